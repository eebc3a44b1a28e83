// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Weighted trees that share a network: what the optimal generators compute before any time is
/// given to a transfer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/collective.hpp"
#include "algorithms/schedule.hpp"
#include "algorithms/tree.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// All-gather: trees of each rank with equal sums of weights. All-reduce: trees of any roots,
/// weights are shares of the whole buffer. Others likewise (schedule.hpp, chunk_ranges()).
struct TreePacking {
  Collective collective = Collective::AllGather;
  Rank root{};
  std::uint32_t ranks = 0;
  bool in_network = false;  ///< switches copy and add along the trees (Schedule::in_network)
  std::vector<PackedTree> trees;
  RoutePool routes;

  [[nodiscard]] std::span<const LinkId> route(const TreeArc& arc) const {
    return route_of(arc, routes);
  }
  [[nodiscard]] TreeArc make_arc(Rank src, Rank dst, std::span<const LinkId> route) {
    return multitree::make_arc(src, dst, route, routes);
  }
};

/// Arcs that are one message, and what they take: those of one sender or, of reductions, of one
/// receiver where switches copy and add, else each by itself. Small, as there are many.
struct ArcGroup {
  /// What one of several arcs owns.
  struct Combined {
    std::vector<LinkId> links;
    std::vector<NodeId> switches;
  };

  std::span<const TreeArc> arcs;
  std::span<const LinkId> links;  ///< as often as it is sent on them, in the order that it passes
  std::unique_ptr<const Combined> combined;  ///< null where switches forward

  /// That copy it, or add to it.
  [[nodiscard]] std::span<const NodeId> switches() const {
    return combined == nullptr ? std::span<const NodeId>() : combined->switches;
  }
};
/// Of a tree's copies or reductions, in the order of its arcs. The packing must outlive them.
[[nodiscard]] std::vector<ArcGroup> arc_groups(const TreePacking& packing, const PackedTree& tree,
                                               Op op, const Topology& topology);

/// Time of the busiest link in shard times, exact: what the packing takes when it is pipelined
/// without end and latency is nothing.
[[nodiscard]] Exact load(const TreePacking& packing, const Topology& topology);

/// Longest root-to-leaf path in logical hops (arcs) over all trees.
[[nodiscard]] std::uint32_t depth(const TreePacking& packing);

}  // namespace multitree
