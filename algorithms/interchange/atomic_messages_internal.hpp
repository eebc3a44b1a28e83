// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From messages, with what each reads and overwrites, to a schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree::interchange {

/// A message of one chunk. `reads` and `overwrites` name the values before it, by the message that
/// wrote them.
struct AtomicMessage {
  static constexpr std::uint32_t kInitial = UINT32_MAX;      ///< the rank's input
  static constexpr std::uint32_t kNothing = UINT32_MAX - 1;  ///< it had no value

  Op op = Op::Copy;
  std::uint32_t chunk = 0;
  Rank src{}, dst{};
  std::uint32_t reads = kInitial;       ///< at src; kInitial or a message
  std::uint32_t overwrites = kNothing;  ///< at dst
  std::uint32_t after = kNothing;       ///< the message before it on the same connection
};

/// Gives every message a step and a shortest route (list scheduling, by the earliest possible
/// step). A message reads its value before it is overwritten, by another in the same step if need
/// be; messages of one connection keep their order, and so do reductions into one value.
/// `fail(message, what)` must throw; it is told of messages that fit no order of steps.
Schedule schedule_messages(Schedule header, std::span<const AtomicMessage> messages,
                           const Topology& topology,
                           const std::function<void(std::uint32_t, const std::string&)>& fail);

}  // namespace multitree::interchange
