// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees in which switches add and copy, one segment after the other like a clockwork.
#pragma once

#include <cstdint>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule.hpp"

namespace multitree {

/// A group of messages that switches add or copy keeps many links busy at once. What is summed to
/// one rank of a box and what is copied from another are in each other's way there, but a sum to a
/// rank and copies from it are not. So trees take turns, and each sends one segment up and an
/// earlier one down in its turn (modulo scheduling, Rau 1994): how much earlier is what a segment
/// of `bytes` takes to be there, in whole turns. Where a tree has few segments, transfers are in
/// the order in which their data is there in an empty network. \param segments as
/// TimingOptions::segments. Same input, same result.
Schedule stream_trees(const TreePacking& packing, const Topology& topology, std::uint32_t segments,
                      std::uint64_t bytes);

}  // namespace multitree
