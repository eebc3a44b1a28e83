// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What does one piece of work after the other, where work is asked for in another order than it
/// can begin in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "algorithms/cost_links_internal.hpp"

namespace multitree {

/// One piece of work after the other. Work that is asked for later, and could have been done in a
/// gap before, takes the time of the gap.
class Server {
 public:
  /// \returns when it is done
  Picoseconds serve(Picoseconds ready, Picoseconds work) {
    if (ready >= free_) {
      gaps_ += ready - free_;
      free_ = ready + work;
      return free_;
    }
    const Picoseconds found = std::min({gaps_, work, free_ - ready});
    gaps_ -= found;
    free_ += work - found;
    return found < work ? free_ : ready + work;
  }

 private:
  Picoseconds free_ = 0, gaps_ = 0;
};

/// A sender: no two pieces of work at a time. What is not ready yet keeps nothing else waiting:
/// work that is asked for later begins as soon as it is ready and the sender has nothing to do for
/// as long as it takes.
class Calendar {
 public:
  /// \returns when it is done
  Picoseconds take(Picoseconds ready, Picoseconds work) {
    const auto is_over = [&](const Gap& gap) { return gap.to < ready + work; };
    auto gap = std::partition_point(gaps_.begin(), gaps_.end(), is_over);
    while (gap != gaps_.end() && gap->to - gap->from < work) ++gap;
    if (gap != gaps_.end()) return fill(gap, std::max(gap->from, ready), work);
    if (ready > free_) {
      if (gaps_.size() >= kMostGaps) gaps_.erase(gaps_.begin());
      gaps_.push_back({free_, ready});
    }
    free_ = std::max(free_, ready) + work;
    return free_;
  }

 private:
  struct Gap {
    Picoseconds from = 0, to = 0;
  };

  Picoseconds fill(std::vector<Gap>::iterator gap, Picoseconds begin, Picoseconds work) {
    const Gap before{gap->from, begin}, after{begin + work, gap->to};
    if (before.from < before.to && after.from < after.to) {
      *gap = after;
      gaps_.insert(gap, before);
    } else if (before.from < before.to || after.from < after.to) {
      *gap = before.from < before.to ? before : after;
    } else {
      gaps_.erase(gap);
    }
    return begin + work;
  }

  /// Earlier ones are forgotten, as little is asked for that late.
  static constexpr std::size_t kMostGaps = 32;
  Picoseconds free_ = 0;
  std::vector<Gap> gaps_;  ///< before free_, from the first to the last
};

}  // namespace multitree
