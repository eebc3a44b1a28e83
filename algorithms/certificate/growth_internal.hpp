// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast what one rank starts with can grow to be at all ranks, where messages cost their sender
/// and bytes take time: TimeReason::Growth.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/time_certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Ranks that are alike as targets of messages.
struct GrowthTarget {
  std::int64_t nearest = 0;   ///< picoseconds from the nearest other rank
  std::uint64_t fastest = 0;  ///< bytes a second of the most that one node sends it
  std::uint64_t all = 0;      ///< bytes a second of all links into it
  std::vector<Rank> ranks;    ///< ascending
};

/// All ranks, in the order of the first of each kind. \pre There are two ranks, each of which
/// reaches the other.
[[nodiscard]] std::vector<GrowthTarget> growth_targets(const Topology& topology);

/// What the target of a collective needs, and who can be the source.
struct GrowthNeed {
  std::uint64_t pairs = 1;  ///< what goes from a source to a target is the vector, divided by this
  /// Those that are counted together, as what they start with differs and fills the same links. If
  /// it is one only, that one is no target.
  std::uint32_t sources = 1;
  std::uint32_t shares = 1;  ///< of such parts that a target needs of all sources together
};
[[nodiscard]] GrowthNeed growth_need(Collective collective, std::uint32_t ranks);

/// Whether messages that are under way for `nearest` picoseconds at least, and each cost a sender
/// `overhead`, at most double in `doubling` what knows something.
[[nodiscard]] bool is_doubling(Time doubling, std::int64_t nearest, Time overhead);

/// What `doubling` and `rest` of the certificate prove, rounded down; 0 if nothing.
/// \pre They are in range, and the first rank of `path` is a rank.
[[nodiscard]] Time growth_time(const TimeCertificate& certificate, const Topology& topology);

}  // namespace multitree
