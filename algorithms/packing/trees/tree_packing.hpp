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
#include "topologies/topology.hpp"

namespace multitree {

/// One logical hop from rank to rank, through switches or (rarely) forwarding ranks:
/// TreePacking::routes[route_begin .. route_begin + route_size).
struct TreeArc {
  Rank src{};
  Rank dst{};
  std::uint32_t route_begin = 0;
  std::uint32_t route_size = 0;
};

/// The trees of one share of the data. `gather` spreads it from the root, parents before children;
/// `reduce` collects it at the root, children before parents. One of them is empty where the
/// collective has no such phase.
struct PackedTree {
  Rank root{};
  std::uint64_t weight = 1;  ///< > 0; its share, relative to the other trees (of the same root,
                             ///< where the collective has shards)
  std::vector<TreeArc> gather, reduce;
};

/// All-gather: trees of each rank with equal sums of weights. All-reduce: trees of any roots,
/// weights are shares of the whole buffer. Others likewise (schedule.hpp, chunk_ranges()).
struct TreePacking {
  Collective collective = Collective::AllGather;
  Rank root{};
  std::uint32_t ranks = 0;
  std::vector<PackedTree> trees;
  std::vector<LinkId> routes;  ///< pool of all routes

  [[nodiscard]] std::span<const LinkId> route(const TreeArc& arc) const {
    return std::span(routes).subspan(arc.route_begin, arc.route_size);
  }
  [[nodiscard]] TreeArc make_arc(Rank src, Rank dst, std::span<const LinkId> route);
};

/// Time of the busiest link in shard times, exact: what the packing takes when it is pipelined
/// without end and latency is nothing.
[[nodiscard]] Exact load(const TreePacking& packing, const Topology& topology);

/// Longest root-to-leaf path in logical hops (arcs) over all trees.
[[nodiscard]] std::uint32_t depth(const TreePacking& packing);

}  // namespace multitree
