// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From steps to what each rank does: sends, receives and local copies with the dependences between
/// those of one rank. What all exports start from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/interchange/interchange.hpp"
#include "algorithms/interchange/units_internal.hpp"

namespace multitree::interchange {

enum class Buffer : std::uint8_t { Input, Output, Scratch };

/// A run of units in a rank's memory, named by its first.
struct Place {
  Buffer buffer = Buffer::Input;
  std::uint32_t offset = 0;
  bool operator==(const Place&) const = default;
};

enum class Action : std::uint8_t {
  Send,           ///< src to the peer
  Receive,        ///< from the peer to dst
  ReceiveReduce,  ///< dst = src + what the peer sent
  CopyLocal,      ///< src to dst
};

struct Operation {
  Action action = Action::Send;
  Rank rank{};
  Rank peer{};  ///< CopyLocal: the rank itself
  std::uint32_t chunk = 0;
  Place src{}, dst{};       ///< local; which of them count: see Action
  std::uint32_t other = 0;  ///< of a send its receive, of a receive its send
  std::uint32_t needs_begin = 0, needs_count = 0;
};

struct RankOperations {
  /// In an order in which they could be run one by one; a receive is after its send.
  std::vector<Operation> operations;
  /// Pool: the operations of the same rank, all earlier ones, that one waits for.
  std::vector<std::uint32_t> needs;
  std::vector<std::uint32_t> scratch;  ///< units of scratch of each rank

  [[nodiscard]] std::span<const std::uint32_t> needs_of(const Operation& operation) const {
    return std::span(needs).subspan(operation.needs_begin, operation.needs_count);
  }
};

/// Operations in the order of (step, chunk), within these all sends before all receives. In this
/// order a receive waits only for sends that come before it, also if a connection holds no more
/// than one message: no deadlock, whatever is put to one thread in this order as long as sends and
/// receives are apart.
///
/// A rank's value of a chunk stays where its input is until it is written; it is written to the
/// output where the rank ends with it, else to scratch. Reads before a write to the same memory and
/// reductions into one value, in list order, are ordered by dependences.
/// \throws Error(InvalidArgument) if a rank sends what it does not have (the schedule does not
/// verify).
RankOperations rank_operations(const Schedule& schedule, const UnitLayout& layout,
                               BufferMode buffers);

}  // namespace multitree::interchange
