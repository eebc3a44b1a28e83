// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checking and looking up schedules by size.
#include "algorithms/tuning/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "algorithms/tuning/tune.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

[[noreturn]] void reject(const std::string& message) {
  throw Error(ErrorCode::InvalidArgument, message);
}

}  // namespace

SizedSchedules for_all_sizes(Schedule schedule) {
  SizedSchedules all;
  all.push_back({std::move(schedule)});
  return all;
}

void check_sized(const SizedSchedules& schedules) {
  if (schedules.empty()) reject("a plan: expected at least one schedule, got none");
  const Schedule& first = schedules.front().schedule;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const Schedule& schedule = schedules[i].schedule;
    if (schedule.collective != first.collective || schedule.root != first.root ||
        schedule.ranks != first.ranks) {
      reject(
          fmt::format("schedule {} of a plan: expected {} of {} ranks with root {}, got {} of {} "
                      "ranks with root {}",
                      i, to_string(first.collective), first.ranks, index(first.root),
                      to_string(schedule.collective), schedule.ranks, index(schedule.root)));
    }
    if (i > 0 && schedules[i].max_bytes <= schedules[i - 1].max_bytes) {
      reject(
          fmt::format("schedule {} of a plan: expected more than the {} bytes of the one before, "
                      "got {}",
                      i, schedules[i - 1].max_bytes, schedules[i].max_bytes));
    }
  }
  if (schedules.back().max_bytes != std::numeric_limits<std::uint64_t>::max()) {
    reject(
        fmt::format("the last schedule of a plan: expected to be for all sizes, got at most {} "
                    "bytes",
                    schedules.back().max_bytes));
  }
}

const Schedule& schedule_for(const SizedSchedules& schedules, std::uint64_t bytes) {
  return std::ranges::lower_bound(schedules, bytes, {}, &SizedSchedule::max_bytes)->schedule;
}

SizedSchedules TuneResult::plan() const {
  SizedSchedules all;
  for (const TunedRange& range : ranges) {
    all.push_back({candidates[range.candidate].schedule, range.to});
  }
  all.back().max_bytes = std::numeric_limits<std::uint64_t>::max();
  return all;
}

}  // namespace multitree
