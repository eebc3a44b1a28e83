// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which of the errors of several ranks is the one to tell.
#pragma once

#include <exception>
#include <mutex>

#include "topologies/error.hpp"

namespace multitree::tools {

/// The first, but what a rank has heard from another comes after that itself, also where the other
/// gets here later. From any thread.
class Cause {
 public:
  /// \pre in a catch of `error`
  void note(const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    const bool heard = known != nullptr && known->code() == ErrorCode::Transport;
    const std::lock_guard lock(mutex_);
    std::exception_ptr& first = heard ? heard_ : own_;
    if (!first) first = std::current_exception();
  }
  void rethrow_if_any() const {
    if (own_ || heard_) std::rethrow_exception(own_ ? own_ : heard_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr own_, heard_;
};

}  // namespace multitree::tools
