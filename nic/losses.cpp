// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which schedules can lose contributions, and their roll calls.
#include "nic/losses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

[[noreturn]] void refuse_losing(const Schedule& schedule, std::uint32_t chunk, const char* what) {
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("losses: expected an all-reduce by trees, in which each rank sends its sum "
                  "of a chunk once and gets the result once, got '{}', where chunk {} {}",
                  schedule.algorithm, chunk, what));
}

/// Steps from the first to the last of each chunk.
std::vector<std::uint32_t> spans_of(const Schedule& schedule) {
  std::vector<std::uint32_t> first(schedule.chunks.size(), schedule.num_steps()),
      spans(schedule.chunks.size(), 0);
  for (const Transfer& t : schedule.transfers) {
    first[t.chunk] = std::min(first[t.chunk], t.step);
    spans[t.chunk] = std::max(spans[t.chunk], t.step + 1 - first[t.chunk]);
  }
  return spans;
}

}  // namespace

void check_losses(const Losses& losses, const Schedule& schedule) {
  if (schedule.collective != Collective::AllReduce)
    refuse_losing(schedule, 0, "has no sum for all");
  if (schedule.ranks > kMostCounted) {
    throw Error(ErrorCode::Unsupported, fmt::format("losses: expected at most {} ranks, got {}",
                                                    kMostCounted, schedule.ranks));
  }
  if (losses.budget >= schedule.ranks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("losses: expected a budget below {} contributions, got {}",
                            schedule.ranks, losses.budget));
  }
  if (!losses.ready.empty() && losses.ready.size() != schedule.ranks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("losses: expected a cycle for each of {} ranks, got {}", schedule.ranks,
                            losses.ready.size()));
  }
  const std::size_t chunks = schedule.chunks.size();
  std::vector<std::uint32_t> sums(chunks * schedule.ranks, 0), results(chunks * schedule.ranks, 0);
  for (const Transfer& t : schedule.transfers) {
    if (t.op == Op::Reduce) ++sums[t.chunk * std::size_t{schedule.ranks} + index(t.src)];
    if (t.op == Op::Copy) ++results[t.chunk * std::size_t{schedule.ranks} + index(t.dst)];
  }
  for (std::uint32_t c = 0; c < chunks; ++c) {
    for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
      const std::uint32_t once = Rank{r} == schedule.chunks[c].root() ? 0 : 1;
      const std::size_t at = c * std::size_t{schedule.ranks} + r;
      if (sums[at] != once) refuse_losing(schedule, c, "is summed up otherwise");
      if (results[at] != once) refuse_losing(schedule, c, "is handed out otherwise");
    }
  }
}

Schedule roll_call_of(const Schedule& schedule) {
  const std::vector<std::uint32_t> spans = spans_of(schedule);
  const auto lowest = static_cast<std::uint32_t>(std::ranges::min_element(spans) - spans.begin());
  Schedule call;
  call.algorithm = schedule.algorithm;
  call.ranks = schedule.ranks;
  call.chunks = {schedule.chunks[lowest]};
  call.chunks.front().tree = 0;
  call.chunks.front().weight = 1;
  for (const Transfer& t : schedule.transfers) {
    if (t.chunk == lowest) call.add(t.step, t.op, 0, t.src, t.dst, schedule.route(t));
  }
  call.canonicalize();
  return call;
}

std::vector<GroupSource> counted_groups(const Schedule& roll_call, const Schedule& sum,
                                        std::uint64_t elements) {
  return {{.schedule = &roll_call, .elements = 0, .priority = 0},
          {.schedule = &sum, .elements = elements, .priority = 1}};
}

std::vector<Job> counted_jobs(const Losses& losses, const Schedule& roll_call, const Schedule& sum,
                              std::uint64_t bytes) {
  std::vector<Job> jobs;
  if (losses.budget > 0) jobs.push_back({.name = "roll call", .schedule = &roll_call});
  jobs.push_back({.name = "sum", .schedule = &sum, .bytes = bytes, .priority = 1});
  return jobs;
}

}  // namespace multitree::nic
