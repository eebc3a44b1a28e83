// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-gathers and broadcasts as trees that take no more time than a minimum cut proves necessary.
#pragma once

#include <cstdint>

#include "algorithms/packing/trees/tree_packing.hpp"

namespace multitree {

/// Trees for an all-gather. Their load is Bounds::all_gather exactly, with as few trees' worth of
/// weight per root as that allows; or, for `trees_per_root` > 0, the least that so many trees of
/// equal weight per root can reach: link capacities are whole numbers of trees then (Zhao et al.,
/// "ForestColl: Throughput-Optimal Collective Communications on Heterogeneous Network Fabrics",
/// arXiv 2402.06787).
/// \throws Error(Unsupported): numbers beyond 64 bits; switches that some links lead into with more
/// bandwidth than others out of it (or the other way round), if that cannot be left unused.
TreePacking pack_all_gather(const Topology& topology, std::uint32_t trees_per_root = 0);

/// Trees of `root` alone: a broadcast, with the load broadcast_bound() (Edmonds), or the least that
/// `trees` > 0 trees of equal weight can reach. \throws as above.
TreePacking pack_broadcast(const Topology& topology, Rank root, std::uint32_t trees = 0);

}  // namespace multitree
