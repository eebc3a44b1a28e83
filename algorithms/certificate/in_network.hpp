// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The all-reduce optimum of networks whose switches add and copy, and its proof.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/tree.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Trees in which switches add and copy, as good as the search finds them, and what no trees beat.
struct InNetworkOptimum {
  Exact time = 0;           ///< of the busiest link, in shard times, where these trees are used
  Certificate certificate;  ///< its bound is at most `time`; equal: both are the optimum
  std::vector<PackedTree> trees;  ///< with whole weights, rooted in their middle
  RoutePool routes;               ///< of the trees
};

/// Trees by column generation, until they are as good as the narrowest cut allows or none is found
/// that would improve them; then the narrowest cut, or a packing of cuts that costs no more than
/// links are worth, as proof. Up to `most_nodes` nodes it goes on as long as there are better
/// trees, beyond that for a while. Same topology, same result. One rank: one tree without arcs.
/// \pre has_in_network_trees(topology). \throws Error(Unsupported) as compute_bounds().
InNetworkOptimum solve_in_network(const Topology& topology, std::uint32_t most_nodes);

/// The same network with switches that only forward.
Topology without_abilities(const Topology& topology);

/// Far side of the narrowest cut that has ranks on both sides: all of a vector must cross it once
/// each way. \pre two ranks at least, every link has a mate.
std::vector<NodeId> narrowest_cut(const Topology& topology);

/// Cuts without rank 0 on their far side, of the largest weight in all that loads no link by more
/// than its price; `gather` and `reduce` alike. Exact; empty if prices have no common unit that 62
/// bits can count.
std::vector<WeightedCut> heaviest_cuts(const Topology& topology,
                                       const std::vector<Exact>& link_prices);

}  // namespace multitree
