// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A tree that reduces and broadcasts a share of the buffer, as a column of the packing program.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/metric_trees_internal.hpp"

namespace multitree {

/// A few different trees, the cheapest at these prices of links; `round` varies them. Where every
/// link has a mate, `reduce` is the mirror image of `gather`.
std::vector<PackedTree> cheapest_share_trees(const Topology& topology, const Topology& transposed,
                                             const std::vector<Price>& price, std::uint32_t round,
                                             RoutePool& routes);

/// Whether two trees are the same, routes and all.
bool are_same(const PackedTree& a, const PackedTree& b, const RoutePool& routes);

/// The same tree of a network whose links have mates with its root in its middle: as few hops as
/// can be from there to the farthest rank, the lowest rank of those.
PackedTree centred(const PackedTree& tree, const Topology& topology, RoutePool& routes);

}  // namespace multitree
