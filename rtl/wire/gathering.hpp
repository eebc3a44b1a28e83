// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Waiting for all ranks of a job beside other work.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <string>

#include "runtime/job/bootstrap.hpp"

namespace multitree::rtl {

/// An all_gather() in a thread of its own; until it is over nobody else calls the bootstrap. One
/// that is not needed any more, as its owner has failed, gives up within moments: the owner can
/// then tell the others why.
class Gathering {
 public:
  Gathering(runtime::Bootstrap& bootstrap, std::string words, std::chrono::milliseconds deadline);
  ~Gathering() { has_given_up_ = true; }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  [[nodiscard]] bool is_over() const {
    return all_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  /// Waits. \throws as all_gather()
  runtime::Gathered get() { return all_.get(); }

 private:
  std::atomic<bool> has_given_up_ = false;
  std::future<runtime::Gathered> all_;  // its destructor waits for the thread
};

}  // namespace multitree::rtl
