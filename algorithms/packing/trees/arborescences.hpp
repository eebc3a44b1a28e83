// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact packing of spanning out-trees under link capacities (Edmonds), switches included.
#pragma once

#include <cstdint>
#include <span>

#include "algorithms/packing/trees/tree_packing.hpp"

namespace multitree {

/// Out-trees (PackedTree::gather): those of rank r have weights that sum to demand[r] and all
/// together load link e by at most capacity[e]. Collective, root and normalisation of the result
/// are the caller's.
///
/// Short trees are preferred: stars, or stars of stars, routed through the switches where these
/// have room for them (shallow_trees_internal.hpp). Otherwise switches are removed by splitting off
/// (Bang-Jensen, Frank, Jackson), ranks share shortest paths as far as they go, and what these
/// leave undone is grown in batches (Edmonds, Bérczi-Frank), so that the result is exact in any
/// case.
///
/// \pre At every switch the capacities in and out are equal, and every cut holds: for each node set
/// S that misses a rank, capacity leaving S >= demand of the ranks in S. The result is exact then;
/// \throws std::logic_error otherwise. Same input, same result.
TreePacking pack_arborescences(const Topology& topology, std::span<const std::int64_t> capacity,
                               std::span<const std::int64_t> demand);

}  // namespace multitree
