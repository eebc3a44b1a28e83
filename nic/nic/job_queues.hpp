// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a port may send of several jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "nic/program/program.hpp"

namespace multitree::nic {

/// For each port and job the next message, and for each port the jobs whose next message may be
/// sent, that of the least priority first.
class JobQueues {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  JobQueues(const std::vector<JobRow>& jobs, std::size_t ports)
      : jobs_(jobs), fronts_(ports * jobs.size()), ready_(ports) {}

  /// The next message of a job at a port; kNone: it has sent all.
  [[nodiscard]] std::uint32_t front(std::uint32_t port, std::uint32_t job) const {
    return fronts_[at(port, job)].message;
  }
  void set_front(std::uint32_t port, std::uint32_t job, std::uint32_t message) {
    fronts_[at(port, job)] = {message, false};
  }
  /// The job's next message may be sent. \returns whether that is news.
  bool offer(std::uint32_t port, std::uint32_t job) {
    Front& front = fronts_[at(port, job)];
    if (std::exchange(front.offered, true)) return false;
    ready_[port].emplace(jobs_[job].priority, job);
    return true;
  }
  [[nodiscard]] bool empty(std::uint32_t port) const { return ready_[port].empty(); }
  /// The job that sends next. \pre not empty; its next message is to be set.
  std::uint32_t pop(std::uint32_t port) {
    const std::uint32_t job = ready_[port].top().second;
    ready_[port].pop();
    return job;
  }

 private:
  struct Front {
    std::uint32_t message = kNone;
    bool offered = false;
  };
  using Ready = std::pair<std::uint32_t, std::uint32_t>;  // priority, job

  [[nodiscard]] std::size_t at(std::uint32_t port, std::uint32_t job) const {
    return std::size_t{port} * jobs_.size() + job;
  }

  const std::vector<JobRow>& jobs_;
  std::vector<Front> fronts_;  // [port][job]
  std::vector<std::priority_queue<Ready, std::vector<Ready>, std::greater<>>> ready_;  // [port]
};

}  // namespace multitree::nic
