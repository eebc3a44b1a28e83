// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A tree that reduces and broadcasts a share of the buffer, as a column of the packing program.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/metric_trees_internal.hpp"

namespace multitree {

/// One share of the data: collected at the root and spread from it.
struct ShareTree {
  Rank root{};
  std::vector<Hop> gather;  ///< parents first
  std::vector<Hop> reduce;  ///< children first
  bool operator==(const ShareTree&) const = default;
};

/// A few different trees, the cheapest at these prices of links; `round` varies them. Where every
/// link has a mate, `reduce` is the mirror image of `gather`.
std::vector<ShareTree> cheapest_share_trees(const Topology& topology, const Topology& transposed,
                                            const std::vector<Price>& price, std::uint32_t round);

/// The same tree of a network whose links have mates with its root in its middle: as few hops as
/// can be from there to the farthest rank, the lowest rank of those.
ShareTree centred(const ShareTree& tree, const Topology& topology);

}  // namespace multitree
