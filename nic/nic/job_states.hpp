// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How far ranks are with their jobs.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "nic/program/program.hpp"
#include "nic/simulate.hpp"

namespace multitree::nic {

/// Starts jobs of each rank when those before them are over there, and has its computing done one
/// after the other. Whoever holds it posts what is due() as events, and calls happen() for each.
class JobStates {
 public:
  /// At `time`, happen(rank, job).
  struct Due {
    std::uint64_t time = 0;
    std::uint32_t rank = 0, job = 0;
  };
  /// What an event made of a job.
  enum class Became : std::uint8_t { Running, Over, Queued };

  explicit JobStates(const Program& program);

  /// Makes those due that wait for nothing: the rank's interface starts.
  void start(std::uint64_t now, std::uint32_t rank);
  Became happen(std::uint64_t now, std::uint32_t rank, std::uint32_t job);
  /// The rank has sent, or taken in, a message of the job.
  void done(std::uint64_t now, std::uint32_t rank, std::uint32_t job);
  /// What has become due since the last call.
  [[nodiscard]] std::vector<Due> take_due() { return std::exchange(due_, {}); }

  [[nodiscard]] bool is_running(std::uint32_t rank, std::uint32_t job) const {
    return state(rank, job).phase == Phase::Running;
  }
  /// Jobs of ranks that are not over.
  [[nodiscard]] std::uint64_t left() const { return left_; }
  [[nodiscard]] const std::vector<JobSpan>& spans() const { return spans_; }

 private:
  enum class Phase : std::uint8_t { Waiting, Running, Over };
  struct State {
    Phase phase = Phase::Waiting;
    std::uint32_t before = 0;    // jobs that it waits for
    std::uint64_t messages = 0;  // to be sent and taken in
  };

  [[nodiscard]] State& state(std::uint32_t rank, std::uint32_t job) {
    return states_[std::size_t{rank} * rows_.size() + job];
  }
  [[nodiscard]] const State& state(std::uint32_t rank, std::uint32_t job) const {
    return states_[std::size_t{rank} * rows_.size() + job];
  }
  void make_due(std::uint64_t now, std::uint32_t rank, std::uint32_t job);
  Became begin(std::uint64_t now, std::uint32_t rank, std::uint32_t job);
  void end(std::uint64_t now, std::uint32_t rank, std::uint32_t job);
  void compute_next(std::uint64_t now, std::uint32_t rank);

  const std::vector<JobRow>& rows_;
  std::vector<std::vector<std::uint32_t>> followers_;  // [job]: jobs after it
  std::vector<State> states_;                          // [rank][job]
  std::vector<std::deque<std::uint32_t>> computing_;   // [rank]: the first is under way
  std::vector<JobSpan> spans_;                         // [job]
  std::vector<Due> due_;
  std::uint64_t left_ = 0;
};

}  // namespace multitree::nic
