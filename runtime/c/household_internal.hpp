// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks of one job in one process, and how they leave it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace multitree::runtime::c {

class Comm;

/// The ranks of one job that this process has. Leaving a job waits for all of its ranks, and one
/// thread may have several of them, which it destroys one after the other: so whoever leaves while
/// others of the household stay only finishes what it has begun, and the last says farewell for
/// all. Thread-safe.
class Household {
 public:
  /// That of the job with this name, which all of its ranks know it by; made for the first.
  static std::shared_ptr<Household> of(const std::string& job);

  explicit Household(std::string job) : job_(std::move(job)) {}
  ~Household();
  Household(const Household&) = delete;
  Household& operator=(const Household&) = delete;

  [[nodiscard]] const std::string& job() const { return job_; }
  void enter();
  /// One that has entered leaves in order: it waits for all ranks of the job. \throws Error,
  /// Failure: the first of what goes wrong
  void finalize(Comm& comm);
  /// The same, but while others stay it only finishes what it has begun.
  void leave(const std::shared_ptr<Comm>& comm);
  /// One leaves without a farewell, as is left to those that have left before if it was the last.
  /// Never waits for other ranks.
  void vanish(const std::string& reason);

 private:
  /// One stays no longer. Whether any does.
  bool others_stay();
  /// All that have left and have not said farewell, if nobody stays.
  std::vector<std::shared_ptr<Comm>> take_leavers(const std::shared_ptr<Comm>& one_more = nullptr);

  const std::string job_;
  std::mutex mutex_;
  std::size_t staying_ = 0;
  std::vector<std::shared_ptr<Comm>> leavers_;
};

}  // namespace multitree::runtime::c
