// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From an algorithm's logical messages to a contention-free schedule: each message gets the
/// earliest step at which its data is there and a shortest route is free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A message before it has a step and a route.
struct Message {
  Op op = Op::Copy;
  std::uint32_t chunk = 0;
  Rank src{};
  Rank dst{};
  /// `dst` also sends its value of the chunk to `src`, in the same step and hence as it was before:
  /// with Reduce, both end with the sum. Where a network has no room for both ways in one step (a
  /// link that is part of both routes), `src` sends first and the sum is copied back.
  bool swap = false;
  /// What has a higher one than all before it in the list is in later steps than all of them, and
  /// so is what follows.
  std::uint32_t wave = 0;
};

/// Gives every message the earliest possible step and a free shortest route (list scheduling),
/// whose slowest link is as fast as that of any shortest route between its ends.
///
/// `header` provides everything but transfers. `messages` are in an order in which they could run
/// one by one; their data dependences (a value is sent after what was received before it in the
/// list, and overwritten only after it was sent) become step orders. A swap is two messages at one
/// place in that order. The result is canonical and uses no link beyond its slots in any step.
/// \throws Error: Unsupported (no route), InvalidArgument (a swap that is not a Reduce).
Schedule pack(Schedule header, std::span<const Message> messages, const Topology& topology);

}  // namespace multitree
