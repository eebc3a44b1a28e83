// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank's program as the list that a kernel walks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/device/walk.hpp"
#include "runtime/execution/program_internal.hpp"

namespace multitree::runtime::device {

/// Where the result of a call lies, in bytes of the whole.
struct Extent {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const Extent&) const = default;
};

/// Where the data of a call lies, besides what its program says.
struct WalkShape {
  Extent result;              ///< what comes out; the output begins where it does
  std::uint64_t input = 0;    ///< where the input begins, in bytes of the whole
  std::uint32_t divisor = 1;  ///< more than 1: the result is divided by it
  bool operator==(const WalkShape&) const = default;
};

struct WalkSteps {
  std::vector<WalkStep> steps;
  std::vector<std::uint32_t> sent, received;  ///< messages by lane
  std::uint64_t work_bytes = 0;               ///< of a block's part of Work
};

/// Whether pieces have room in places for `bytes`. The same at all ranks of a call.
bool fits_walk(const Program& program, std::uint64_t bytes);

/// The program's tasks in their order, then pieces of the result that no message changes are taken
/// from the input, and averages are made. Pieces lie in the input until something is received for
/// them, then in the output if they belong to the result, and else in Work until the last task that
/// needs them: a ring's reduce-scatter needs about two for each of its steps that is under way, and
/// not the whole vector.
/// \throws Error(Unsupported) if a step of the schedule sends one chunk to one peer more than once.
WalkSteps walk_steps(const Program& program, const WalkShape& shape, std::uint32_t blocks);

}  // namespace multitree::runtime::device
