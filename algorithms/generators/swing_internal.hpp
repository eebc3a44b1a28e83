// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exchanges at the distances of Swing (swing.cpp), which Bine butterflies (bine.cpp) use as well.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/spec.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// One exchange of every rank, with a partner in its ring of `size` ranks that are `stride` apart.
struct SwingStep {
  std::uint32_t size, stride;
  std::int64_t distance;  ///< of even ranks; odd ones go the other way

  [[nodiscard]] Rank peer(Rank rank) const;
};

/// The steps of each part of the data, as many for all, in the order of a reduce-scatter: nearest
/// partners first.
using SwingParts = std::vector<std::vector<SwingStep>>;

/// The steps of part `part` < 2D in a torus of D >= 1 dimensions of even sizes.
std::vector<SwingStep> swing_steps(const std::vector<std::uint32_t>& dims, std::uint32_t part);

/// All chunks of `header` from their owners to everybody, by the steps of part chunk mod parts, the
/// most distant partners first.
Schedule swing_spread(Schedule header, const SwingParts& parts, const Topology& topology);

/// All-reduce with a chunk per part, exchanged whole in each step. Counts every contribution once
/// only if all sizes are powers of two.
Schedule swing_exchange(const SwingParts& parts, const Topology& topology);

/// Reduce-scatter and all-gather by `all_gather`.
Schedule scattered_all_reduce(const Topology& topology, const Spec& options,
                              Schedule (*all_gather)(const Topology&, const Spec&));

/// The option "variant" of an all-reduce: whether it exchanges whole vectors.
bool latency_option(const Spec& options);

/// Documentation of latency_option() for Algorithm::parameters.
inline constexpr std::string_view kVariantDoc =
    "variant=bandwidth|latency: all-reduce by reduce-scatter and all-gather (default), or by "
    "exchange of whole vectors (sizes that are powers of two)";

}  // namespace multitree
