// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees of depth one to three through switches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/packing/trees/arborescences_internal.hpp"

namespace multitree {

/// Trees and the routes of their arcs.
struct RoutedTrees {
  std::vector<RankArc> arcs;
  std::vector<PackedTree> trees;
};

/// One tree for each root, of weight demand[r]: a star if switches have room for one of every root;
/// else the root, or another rank of its group if the root has no room, sends to one rank in each
/// other group, and every rank passes what it got on within its group, where the ranks of a group
/// share a switch of their own (a box, a leaf of a fat-tree). Nothing if routes within the
/// capacities are not found for either.
std::optional<RoutedTrees> shallow_trees(const Topology& topology,
                                         std::span<const std::int64_t> capacity,
                                         std::span<const std::int64_t> demand);

}  // namespace multitree
