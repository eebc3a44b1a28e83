// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From the order of messages to the steps they may have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree {

/// Follows a valid sequence of messages and says from which step on the next one may run, given the
/// steps of those before it. A step's transfers read values as they were before the step, hence:
///  - read after write: later than every write of the sent value;
///  - write after read: not before a sending of the overwritten value;
///  - write after write: a Copy later than every write, a Reduce later than every Copy (several
///  Reduce
///    may share a step).
/// In rounds, a value is also sent and written one time after the other, as its messages have it:
/// so messages of a round stay together, whatever room links have (levels_of()).
class Dependences {
 public:
  Dependences(std::uint32_t ranks, std::size_t chunks, bool in_rounds)
      : chunks_(chunks), in_rounds_(in_rounds), values_(ranks * chunks) {}

  [[nodiscard]] std::uint32_t earliest(Op op, std::uint32_t chunk, Rank src, Rank dst) const {
    const Value& from = value(src, chunk);
    const Value& to = value(dst, chunk);
    const bool after_all = in_rounds_ || op == Op::Copy;
    return std::max(
        {from.written, in_rounds_ ? from.sent : 0, after_all ? to.written : to.copied, to.read});
  }

  void record(Op op, std::uint32_t chunk, Rank src, Rank dst, std::uint32_t step) {
    Value& from = value(src, chunk);
    Value& to = value(dst, chunk);
    from.read = std::max(from.read, step);
    from.sent = std::max(from.sent, step + 1);
    to.written = std::max(to.written, step + 1);
    if (op == Op::Copy) to.copied = std::max(to.copied, step + 1);
  }

 private:
  struct Value {
    std::uint32_t written = 0;  // one past the last step that wrote it
    std::uint32_t copied = 0;   // one past the last step that overwrote it
    std::uint32_t read = 0;     // the last step that sent it
    std::uint32_t sent = 0;     // one past that
  };

  [[nodiscard]] const Value& value(Rank rank, std::uint32_t chunk) const {
    return values_[index(rank) * chunks_ + chunk];
  }
  [[nodiscard]] Value& value(Rank rank, std::uint32_t chunk) {
    return values_[index(rank) * chunks_ + chunk];
  }

  std::size_t chunks_;
  bool in_rounds_;
  std::vector<Value> values_;
};

}  // namespace multitree
