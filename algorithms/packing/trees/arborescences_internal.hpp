// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packing of trees on a network of ranks alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/packing/capacities/split_off.hpp"

namespace multitree {

/// A tree on arcs between ranks.
struct ArcTree {
  Rank root{};
  std::int64_t weight = 0;          ///< > 0
  std::vector<std::uint32_t> arcs;  ///< indices of RankArcs, parents before children
};

/// Spanning out-trees, those of rank r with weights that sum to demand[r], within the capacities.
/// \throws std::logic_error if a cut does not allow them.
std::vector<ArcTree> grow_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                std::span<const std::int64_t> demand);

/// Trees of (nearly) shortest paths within the capacities; of each root as many as were found, with
/// weights that sum to demand[r] at most.
std::vector<ArcTree> shortest_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                    std::span<const std::int64_t> demand);

/// grow_trees() with short trees: shortest_trees() are kept as far as cuts allow to complete them.
std::vector<ArcTree> pack_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                std::span<const std::int64_t> demand);

}  // namespace multitree
