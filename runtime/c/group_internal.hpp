// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a thread has noted down between mtGroupStart() and mtGroupEnd().
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/c/comm_internal.hpp"

namespace multitree::runtime::c {

/// Of one thread.
class Group {
 public:
  static Group& of_this_thread();

  [[nodiscard]] bool open() const { return depth_ > 0; }
  void begin() { ++depth_; }
  /// Runs what was noted down once the outermost group ends. \throws Error, Failure: the first.
  void end();

  /// A collective to be started; `blocks`: and waited for.
  void add(const std::shared_ptr<Job>& job, bool blocks);
  /// Set-up, finalizing or destruction, which wait for other ranks: all run at the same time.
  void add(std::function<void()> work) { work_.push_back(std::move(work)); }
  /// A call in the group was wrong: end() says so and does nothing else.
  void note_in_flight() { error_ = error_ ? error_ : std::current_exception(); }

 private:
  struct Entry {
    std::shared_ptr<Job> job;
    bool blocks = false;
  };
  int depth_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::function<void()>> work_;
  std::exception_ptr error_;
};

}  // namespace multitree::runtime::c
