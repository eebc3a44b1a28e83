// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Jobs of ranks, one event at a time.
#include "nic/nic/job_states.hpp"

#include <algorithm>

namespace multitree::nic {

JobStates::JobStates(const Program& program)
    : rows_(program.jobs),
      followers_(rows_.size()),
      states_(rows_.size() * program.tables.ranks),
      computing_(program.tables.ranks),
      spans_(rows_.size()),
      left_(states_.size()) {
  for (std::uint32_t j = 0; j < rows_.size(); ++j) {
    for (const std::uint32_t before : rows_[j].after) followers_[before].push_back(j);
    for (std::uint32_t r = 0; r < program.tables.ranks; ++r) {
      state(r, j) = {.before = static_cast<std::uint32_t>(rows_[j].after.size()),
                     .messages = rows_[j].messages[r]};
    }
  }
}

void JobStates::start(std::uint64_t now, std::uint32_t rank) {
  for (std::uint32_t j = 0; j < rows_.size(); ++j) {
    if (rows_[j].after.empty()) make_due(now, rank, j);
  }
}

/// Nothing that it waits for is left.
void JobStates::make_due(std::uint64_t now, std::uint32_t rank, std::uint32_t job) {
  due_.push_back({std::max(now, rows_[job].ready) + rows_[job].delay, rank, job});
}

JobStates::Became JobStates::happen(std::uint64_t now, std::uint32_t rank, std::uint32_t job) {
  if (state(rank, job).phase == Phase::Waiting) return begin(now, rank, job);
  computing_[rank].pop_front();
  end(now, rank, job);
  compute_next(now, rank);
  return Became::Over;
}

JobStates::Became JobStates::begin(std::uint64_t now, std::uint32_t rank, std::uint32_t job) {
  State& s = state(rank, job);
  s.phase = Phase::Running;
  if (!rows_[job].computing.empty()) {
    computing_[rank].push_back(job);
    if (computing_[rank].size() == 1) compute_next(now, rank);
    return Became::Queued;
  }
  spans_[job].begin = std::min(spans_[job].begin, now);
  if (s.messages > 0) return Became::Running;
  end(now, rank, job);
  return Became::Over;
}

void JobStates::compute_next(std::uint64_t now, std::uint32_t rank) {
  if (computing_[rank].empty()) return;
  const std::uint32_t job = computing_[rank].front();
  spans_[job].begin = std::min(spans_[job].begin, now);
  due_.push_back({now + rows_[job].computing[rank], rank, job});
}

void JobStates::done(std::uint64_t now, std::uint32_t rank, std::uint32_t job) {
  if (--state(rank, job).messages == 0) end(now, rank, job);
}

void JobStates::end(std::uint64_t now, std::uint32_t rank, std::uint32_t job) {
  state(rank, job).phase = Phase::Over;
  spans_[job].end = std::max(spans_[job].end, now);
  --left_;
  for (const std::uint32_t next : followers_[job]) {
    if (--state(rank, next).before == 0) make_due(now, rank, next);
  }
}

}  // namespace multitree::nic
