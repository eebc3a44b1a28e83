// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Spanning trees of meshes in closed form.
#pragma once

#include <optional>

#include "algorithms/packing/trees/tree_packing.hpp"

namespace multitree {

/// The packing that pack_spanning_trees() would have to search for, on whole meshes of one
/// bandwidth with one or two dimensions larger than 1, or any number of equal ones; nothing for
/// other networks. O(ranks) per tree.
///
/// A comb is all the lines of one dimension, joined by all the lines of a second one within one
/// layer, those joined by lines of a third one, and so on; the last joint is a single line, the
/// spine. With layers of all positions, and dimensions in all cyclic orders, every edge carries the
/// same: k n^(k-1) trees, (n^k - 1) / (n - 1) on each edge of an n x n x ... mesh. In an m x n mesh
/// the m combs of rows have the weight n - 1, the n combs of columns m - 1.
std::optional<TreePacking> pack_combs(const Topology& topology);

}  // namespace multitree
