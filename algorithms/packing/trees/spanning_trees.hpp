// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packing of undirected spanning trees: the fastest all-reduce of networks without switches.
#pragma once

#include <cstdint>

#include "algorithms/packing/trees/tree_packing.hpp"

namespace multitree {

/// Trees that each reduce towards their root and spread from it over the same links, the other way.
/// A tree so takes its weight on both directions of a link once, and the least load of all such
/// packings is ranks / strength(topology) (Nash-Williams 1961, Tutte 1961). With `trees` = 0 that
/// load is met exactly; otherwise the packing has `trees` trees of weight 1 and the least load that
/// so many equal trees can have, which is at most 1 + links / trees times the former.
///
/// A greedy packing of short trees, then augmenting exchanges (matroid union, Roskind and Tarjan
/// 1985) that move whole bundles of equal trees at once. Roots are the trees' centres.
///
/// \pre has no switches and is_symmetric(). \throws Error(Unsupported) if not, or if the bandwidths
/// have no common unit coarse enough for 64 bits. Same input, same result.
TreePacking pack_spanning_trees(const Topology& topology, std::uint32_t trees = 0);

}  // namespace multitree
