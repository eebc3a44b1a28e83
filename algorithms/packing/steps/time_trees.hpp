// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From trees to a schedule: cuts each tree's share into chunks and gives every transfer a step.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/units.hpp"

namespace multitree {

/// What messages cost a schedule that is made for one size.
struct MessageCosts {
  std::uint64_t bytes = 0;  ///< of the buffer, >= 1
  Time message;             ///< that each keeps its sender busy
  /// What a rank sends keeps its order within a step, too, which takes more steps.
  bool within_steps = true;
};

struct TimingOptions {
  /// Pieces that a tree of the mean weight is cut into; heavier trees get more, so that chunks are
  /// about equally large. >= 1.
  std::uint32_t segments = 1;
  /// Chunks that pass over the slowest link between receiving and passing on: time for latency.
  std::uint32_t lag = 0;
  std::uint32_t lag_parts = 1;  ///< `lag` counts parts of a chunk, of so many equal ones
  /// All chunks of a tree are summed in the same order at every rank, so that an executor may merge
  /// them where messages are expensive. Takes up to 0.3 % longer.
  bool same_order = false;
  /// Chunks that may wait in front of a link in the middle of a route, each as long as the longest
  /// one keeps it busy: then it has something to do whenever the links before it are late. With 0 a
  /// transfer starts when all links of its route can take it at once. With more, what a rank sends
  /// also has its steps in the order in which it starts, so that no message that can go waits for
  /// one that cannot.
  std::uint32_t queues = 0;
  /// Instead of `lag`: data is passed on after the latency of its route and the time of a message,
  /// and a rank sends one message after the other. What it sends, and what it receives, has its
  /// steps in that order, too, whichever links it takes: nothing urgent waits for what could have
  /// gone as well.
  std::optional<MessageCosts> costs = std::nullopt;
};

/// Reductions up and copies down, pipelined chunk after chunk and at the same time; all-gather
/// packings have only copies. Transfers are put in order by list scheduling in exact time, each
/// link busy for what it carries over its bandwidth (the model of predict_time() without latency),
/// so that fast links are not kept waiting for slow ones. Steps are the least that keep that order
/// on every link, no link over its slots in any of them. Trees of one packing keep their number as
/// Chunk::tree. O(T log T) for T transfers. Same input, same result: all times are whole numbers.
/// \pre no switch copies or adds (TreePacking::in_network): stream_trees() is for those.
Schedule time_trees(const TreePacking& packing, const Topology& topology,
                    const TimingOptions& options = {});

}  // namespace multitree
