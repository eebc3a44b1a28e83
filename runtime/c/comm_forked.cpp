// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A communicator in a process that was forked from its own.
#include <fmt/format.h>

#include <utility>

#include "runtime/c/comm_internal.hpp"

namespace multitree::runtime::c {

void Comm::check_own_process() const {
  if (!is_forked()) return;
  throw Failure(mtInvalidArgument,
                fmt::format("rank {}: the communicator belongs to the process that this one was "
                            "forked from",
                            rank_.load()));
}

/// Without the mutexes, which threads may hold that are not here.
void Comm::leave_behind() {
  if (background_.joinable()) background_.detach();
  static_cast<void>(new auto(std::move(outstanding_)));
  static_cast<void>(communicator_.release());
  static_cast<void>(new auto(std::move(bootstrap_)));
  static_cast<void>(new auto(std::move(household_)));
}

}  // namespace multitree::runtime::c
