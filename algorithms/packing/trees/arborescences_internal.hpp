// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packing of trees on a network of ranks alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/packing/capacities/split_off.hpp"
#include "algorithms/tree.hpp"

namespace multitree {

/// Trees here take RankArcs where others take links: arc i of the network is the route at i.
[[nodiscard]] inline TreeArc arc_over(std::uint32_t id, const RankArc& arc) {
  return {arc.src, arc.dst, id, 1};
}
[[nodiscard]] inline std::uint32_t rank_arc(const TreeArc& arc) { return arc.route_begin; }
[[nodiscard]] inline std::int64_t weight_of(const PackedTree& tree) {
  return static_cast<std::int64_t>(tree.weight);
}

/// Spanning out-trees, those of rank r with weights that sum to demand[r], within the capacities.
/// \throws std::logic_error if a cut does not allow them.
std::vector<PackedTree> grow_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                   std::span<const std::int64_t> demand);

/// Trees of (nearly) shortest paths within the capacities; of each root as many as were found, with
/// weights that sum to demand[r] at most.
std::vector<PackedTree> shortest_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                       std::span<const std::int64_t> demand);

/// grow_trees() with short trees: shortest_trees() are kept as far as cuts allow to complete them.
std::vector<PackedTree> pack_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                   std::span<const std::int64_t> demand);

}  // namespace multitree
