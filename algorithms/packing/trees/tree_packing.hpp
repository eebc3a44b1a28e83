// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Weighted trees that share a network: what the optimal generators compute before any time is
/// given to a transfer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/collective.hpp"
#include "algorithms/tree.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// All-gather: trees of each rank with equal sums of weights. All-reduce: trees of any roots,
/// weights are shares of the whole buffer. Others likewise (schedule.hpp, chunk_ranges()).
struct TreePacking {
  Collective collective = Collective::AllGather;
  Rank root{};
  std::uint32_t ranks = 0;
  std::vector<PackedTree> trees;
  RoutePool routes;

  [[nodiscard]] std::span<const LinkId> route(const TreeArc& arc) const {
    return route_of(arc, routes);
  }
  [[nodiscard]] TreeArc make_arc(Rank src, Rank dst, std::span<const LinkId> route) {
    return multitree::make_arc(src, dst, route, routes);
  }
};

/// Time of the busiest link in shard times, exact: what the packing takes when it is pipelined
/// without end and latency is nothing.
[[nodiscard]] Exact load(const TreePacking& packing, const Topology& topology);

/// Longest root-to-leaf path in logical hops (arcs) over all trees.
[[nodiscard]] std::uint32_t depth(const TreePacking& packing);

}  // namespace multitree
