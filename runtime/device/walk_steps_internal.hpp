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
};

struct WalkSteps {
  std::vector<WalkStep> steps;
  std::vector<std::uint32_t> sent, received;  ///< messages by lane
};

/// Whether pieces have room in places for `bytes`. The same at all ranks of a call.
bool fits_walk(const Program& program, std::uint64_t bytes);

/// `fresh`: the input is not the buffer that is worked in; pieces of `result` that no message
/// changes are then taken from it. \throws Error(Unsupported) if a step of the schedule sends one
/// chunk to one peer more than once.
WalkSteps walk_steps(const Program& program, bool fresh, Extent result);

}  // namespace multitree::runtime::device
