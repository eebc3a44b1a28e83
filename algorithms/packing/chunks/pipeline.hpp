// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many chunks a pipeline is worth.
#pragma once

#include <cstdint>

#include "algorithms/packing/trees/tree_packing.hpp"

namespace multitree {

/// What pipelining may cost.
struct Pipeline {
  double fill = 0.025;                     ///< share of the time to fill and to drain
  std::uint64_t most_transfers = 1 << 20;  ///< in all
  /// Of a chunk where links move 16 GB/s: smaller ones are not worth a message. Where all links are
  /// slower a chunk that takes as long is shorter, down to kLeastChunk.
  std::uint64_t least_bytes = 16 << 10;
};

/// Of no pipeline chunks are shorter for the sake of slow links: processors have to send them.
constexpr std::uint64_t kLeastChunk = 4 << 10;

/// TimingOptions::segments so that `hops` chunks one after the other, what it takes to fill and to
/// drain the pipeline of `bytes`, take the share of its time that `pipeline` allows, if its other
/// limits do. At least 1.
[[nodiscard]] std::uint32_t pipeline_segments(const TreePacking& packing, const Topology& topology,
                                              std::uint32_t hops, std::uint64_t bytes,
                                              const Pipeline& pipeline);

/// TimingOptions::segments so that chunks of `bytes` have `piece` bytes on average, or as many less
/// as makes a whole number of them, if that is not more than `most_transfers` in all. At least 1.
[[nodiscard]] std::uint32_t piece_segments(const TreePacking& packing, std::uint64_t bytes,
                                           std::uint64_t piece, std::uint64_t most_transfers);

}  // namespace multitree
