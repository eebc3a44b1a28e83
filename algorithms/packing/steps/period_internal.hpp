// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// When in a period each transfer of trees has its turn, so that links are busy as their loads say.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// One arc of one of the chunks that a tree sends in a period. Times are in slots: what the
/// smallest chunk takes on the fastest link.
struct PeriodicArc {
  std::uint32_t tree = 0, copy = 0;  ///< copy: of the tree's chunks in a period
  std::uint32_t arc = 0;             ///< reductions, then copies, as in the packing
  std::uint64_t start = 0;           ///< in the first period that it is part of, and so on later
};

/// A period in which all trees together send their shares once.
struct Period {
  std::uint64_t slots = 0;            ///< its length
  std::vector<std::uint32_t> chunks;  ///< by tree: in a period
  std::vector<PeriodicArc> arcs;      ///< by start
};

/// Arcs of a period, before those of a short one are repeated; 0: they are too many for one.
std::uint64_t arcs_of_period(const TreePacking& packing);

/// Modulo scheduling (Rau 1994): each transfer gets a place of a period at which all links of its
/// route are free, as early as its data allow; where there is none, it puts out those that are in
/// its way, which look for another one. The period is as long as the busiest link is busy, or a few
/// slots longer where no way was found; what finds none even then starts as soon as it can. What a
/// tree's weight is in whole chunks is rounded where that would be too many. Empty if even the
/// trees' arcs are too many. Same input, same result.
Period find_period(const TreePacking& packing, const Topology& topology);

}  // namespace multitree
