// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce trees of networks that consist of boxes with fast links inside and slow ones between.
#pragma once

#include <optional>

#include "algorithms/packing/trees/tree_packing.hpp"

namespace multitree {

/// A tree for each rank, of chains: from box to box along the ranks that have the root's place in
/// their box, and within each box around it. Each rank sends to its neighbour in its box and to its
/// counterpart in the next box and to nobody else, so messages of different senders meet nowhere.
/// Where they meet, many random orders leave ports of switches only 2 - sqrt(2) of their time
/// (Karol, Hluchyj, Morgan, 1987). As little passes between boxes as an all-reduce can do with.
///
/// Nothing for networks without switches, and for those whose fastest links do not join all ranks
/// to boxes of one size, at least 2 boxes of 2 ranks, or where the routes of two neighbours share a
/// link.
std::optional<TreePacking> pack_boxes(const Topology& topology);

}  // namespace multitree
