// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From trees to a schedule: cuts each tree's share into chunks and gives every transfer a step.
#pragma once

#include <cstdint>

#include "algorithms/packing/tree_packing.hpp"
#include "algorithms/schedule.hpp"

namespace multitree {

struct TimingOptions {
  /// Pieces that a tree of the mean weight is cut into; heavier trees get more, so that chunks are
  /// about equally large. >= 1.
  std::uint32_t segments = 1;
  /// Steps that pass between receiving and passing on, where something else can be sent instead.
  /// Executors without steps keep the order of transfers, and with some lag their links need not
  /// wait for the latency of others.
  std::uint32_t lag = 0;
};

/// Reductions up and copies down, pipelined chunk after chunk and at the same time, no link over
/// its slots in any step; all-gather packings have only copies. The order of transfers on a link is
/// also the one that executors without steps serve them in. Trees of one packing keep their number
/// as Chunk::tree.
Schedule time_trees(const TreePacking& packing, const Topology& topology,
                    const TimingOptions& options = {});

}  // namespace multitree
