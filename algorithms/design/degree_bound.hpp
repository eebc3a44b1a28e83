// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What no network can beat in which every rank has so many cables.
#pragma once

#include <cstdint>

#include "algorithms/certificate/certificate.hpp"

namespace multitree {

/// From any rank at most ports * (ports - 1)^(d-1) others are d hops away (Moore). Where fewer are
/// near, others are farther, so neither of these is less in any network.
struct DegreeBound {
  std::uint32_t ranks = 0, ports = 0;
  std::uint32_t hops = 0;       ///< of the farthest rank
  std::uint64_t distances = 0;  ///< from a rank to all others, added up
  /// Of an all-reduce with equal cables, in shard times: all ports of all ranks carry 2(ranks - 1)
  /// shards into them.
  [[nodiscard]] Exact all_reduce() const;
  /// Of an all-to-all: a message is on as many cables as its ends are apart.
  [[nodiscard]] Exact all_to_all() const;
};

/// \throws Error(InvalidArgument) if no network has so many ranks with so many cables each, to
/// different ranks: fewer than 2 ranks, no ports or more than other ranks, an odd number of ends,
/// or ranks that cannot all be reached. The message says what would do.
DegreeBound degree_bound(std::uint32_t ranks, std::uint32_t ports);

}  // namespace multitree
