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
};

/// Gives every message the earliest possible step and a free shortest route (list scheduling).
///
/// `header` provides everything but transfers. `messages` are in an order in which they could run
/// one by one; their data dependences (a value is sent after what was received before it in the
/// list, and overwritten only after it was sent) become step orders. The result is canonical and
/// uses no link beyond its slots in any step.
Schedule pack(Schedule header, std::span<const Message> messages, const Topology& topology);

}  // namespace multitree
