// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long a wait may take.
#pragma once

#include <algorithm>
#include <chrono>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// A deadline for whoever looks again and again. Between two looks it counts a little at most: a
/// job that was stopped as a whole, by a batch system or a debugger, has not waited meanwhile, and
/// its ranks are not to give each other up when it goes on.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  /// What counts of the time between two looks, at most.
  static constexpr std::chrono::milliseconds kLongestLook{100};

  explicit Patience(Deadline deadline) : left_(deadline) {}

  /// Rounded up; 0: it is over.
  [[nodiscard]] std::chrono::milliseconds left() {
    const Clock::time_point now = Clock::now();
    left_ -= std::min<Clock::duration>(now - last_, kLongestLook);
    last_ = now;
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(left_), Deadline{0});
  }
  [[nodiscard]] bool is_over() { return left().count() == 0; }

 private:
  Clock::duration left_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace multitree::runtime
