// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which schedule for which size: what `multitree tune` finds, plan files hold and the runtime
/// picks from.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree {

/// A schedule, and the largest size that it is for: bytes of the whole vector, as nccl-tests counts
/// them (`count` times ranks for reduce-scatter's input and all-gather's output).
struct SizedSchedule {
  Schedule schedule;
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
  bool operator==(const SizedSchedule&) const = default;
};

/// The schedules of one collective, ascending by max_bytes; the last is for all larger sizes.
using SizedSchedules = std::vector<SizedSchedule>;

/// One schedule for every size.
SizedSchedules for_all_sizes(Schedule schedule);

/// \throws Error(InvalidArgument) unless there is at least one schedule, all are of one collective,
/// root and number of ranks, and their sizes ascend to the largest there is.
void check_sized(const SizedSchedules& schedules);

/// The one for a vector of `bytes`. \pre check_sized().
const Schedule& schedule_for(const SizedSchedules& schedules, std::uint64_t bytes);

}  // namespace multitree
