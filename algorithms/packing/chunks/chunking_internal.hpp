// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the shares of weighted trees become chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule.hpp"

namespace multitree {

/// The chunks of a packing, tree after tree, segment after segment.
struct Chunking {
  std::vector<Chunk> chunks;
  std::vector<std::uint32_t> first;  ///< of each tree, and the number of chunks at the end
};

/// Cuts a tree of the mean weight (of its root's trees, where the collective has shards) into
/// `segments` >= 1 chunks, others in proportion, at least one. The weights of a tree's chunks sum
/// up to the tree's share exactly and differ by one at most, and not at all where 32 bits can
/// express that. Only if the trees' weights themselves differ by more than 32 bits can hold are
/// shares rounded, by less than 2^-31 of the buffer each.
Chunking cut_into_chunks(const TreePacking& packing, std::uint32_t segments);
/// The same with so many chunks >= 1 of each tree.
Chunking cut_into_chunks(const TreePacking& packing, const std::vector<std::uint32_t>& counts);

}  // namespace multitree
