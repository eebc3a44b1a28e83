// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Waits that whoever waits may call off.
#pragma once

#include <string>

#include "topologies/error.hpp"

namespace multitree::runtime {

/// Asked now and then by waits of the thread that it belongs to; other than 0: they shall end.
struct Interruption {
  int (*function)(void* state) = nullptr;
  void* state = nullptr;

  [[nodiscard]] bool wanted() const { return function != nullptr && function(state) != 0; }
};

/// Of this thread.
Interruption& interruption();

/// A wait was called off: final for its communicator, and this process wanted it.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& words) : Error(ErrorCode::Transport, words) {}
};

}  // namespace multitree::runtime
