// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Optimal all-reduce trees on any network: switches, links without mates.
#pragma once

#include <cstdint>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// How long trees of equal weights are looked for before those of the linear program's weights are
/// taken.
enum class EqualTrees : std::uint8_t { IfAny, IfQuickly };

/// Trees that reduce to their root and broadcast from it at the same time, weights summing to the
/// buffer. Their load() is exactly the time of solve_all_reduce_lp(), the least possible; within
/// 2^-40 of it in the rare case that shares have no common unit that 62 bits can count.
///
/// Few trees: never more than links that are busy all the time. Where every link has a mate, a tree
/// broadcasts along the arcs that it reduces along, and its root is in its middle.
/// One rank: one tree without arcs. Same topology, same result.
/// \throws Error(Unsupported) if bandwidths overflow 64 bits.
TreePacking pack_switched_all_reduce(const Topology& topology,
                                     EqualTrees wanted = EqualTrees::IfAny);

}  // namespace multitree
