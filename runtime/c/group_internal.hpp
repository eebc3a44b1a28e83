// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a thread has noted down between mtGroupStart() and mtGroupEnd().
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/c/comm_internal.hpp"

namespace multitree::runtime::c {

/// The first of several exceptions.
class FirstError {
 public:
  template <typename Body>
  void run(const Body& body) {
    try {
      body();
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
  }
  void keep(std::exception_ptr error) {
    if (!error_) error_ = std::move(error);
  }
  [[nodiscard]] explicit operator bool() const { return error_ != nullptr; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

/// Runs each in a thread of its own, as they may wait for each other.
void run_together(const std::vector<std::function<void()>>& work, FirstError& error);

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
  /// Set-up, finalizing and what else waits for other ranks: after the collectives, those of
  /// different communicators at the same time.
  void add(const Comm* comm, std::function<void()> work) {
    work_.push_back({comm, std::move(work)});
  }
  /// A call in the group was wrong: end() says so and does nothing else.
  void note_in_flight() { error_ = error_ ? error_ : std::current_exception(); }

 private:
  struct Entry {
    std::shared_ptr<Job> job;
    bool blocks = false;
  };
  struct Work {
    const Comm* comm = nullptr;
    std::function<void()> body;
  };
  /// Starts them all, or marks them as what was not started.
  static void start(const std::vector<Entry>& entries, const std::vector<Comm*>& comms,
                    FirstError& error);
  /// What each communicator has to do, in its order.
  static std::vector<std::function<void()>> by_communicator(const std::vector<Work>& work);

  int depth_ = 0;
  std::vector<Entry> entries_;
  std::vector<Work> work_;
  std::exception_ptr error_;
};

}  // namespace multitree::runtime::c
