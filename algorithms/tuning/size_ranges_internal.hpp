// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From which size to which each candidate serves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/tuning/tune.hpp"

namespace multitree {

/// Sizes are compared so far apart, and a crossover is found to such a part of its size.
inline constexpr std::uint64_t kGridFactor = 4, kCrossoverPrecision = 64;
/// What a window must gain somewhere over doing without it.
inline constexpr double kLeastGain = 0.01;

/// Finds where the winner changes by bisection, and leaves out windows that gain too little.
class SizeRanges {
 public:
  /// `fastest`: the candidate for a size; `time`: what one takes. `precision`: of a crossover, as a
  /// part of its size. `least_gain`: what a window must gain somewhere over doing without it.
  SizeRanges(std::function<std::size_t(std::uint64_t)> fastest,
             std::function<Time(std::size_t, std::uint64_t)> time, std::uint64_t precision,
             double least_gain)
      : fastest_(std::move(fastest)),
        time_(std::move(time)),
        precision_(precision),
        least_gain_(least_gain) {}

  /// Ranges without gaps from the first size to the last. \pre sizes ascend.
  std::vector<TunedRange> run(const std::vector<std::uint64_t>& sizes) {
    std::vector<std::size_t> winners;
    for (const std::uint64_t size : sizes) winners.push_back(fastest(size));
    windows_.push_back({sizes.front(), sizes.front(), winners.front()});
    for (std::size_t i = 1; i < winners.size(); ++i) {
      refine(sizes[i - 1], winners[i - 1], sizes[i], winners[i]);
    }
    windows_.back().to = sizes.back();
    while (merge_one()) continue;
    std::vector<TunedRange> ranges;
    for (const Window& window : windows_) {
      ranges.push_back({window.from, window.to, window.candidate,
                        time_(window.candidate, window.from), time_(window.candidate, window.to)});
    }
    return ranges;
  }

 private:
  struct Window {
    std::uint64_t from = 0, to = 0;
    std::size_t candidate = 0;
  };

  std::size_t fastest(std::uint64_t bytes) {
    const std::size_t candidate = fastest_(bytes);
    least_[bytes] = time_(candidate, bytes);
    return candidate;
  }

  /// Winner `a` at size `low`, `b` at `high`: finds where it changes, and to whom on the way.
  void refine(std::uint64_t low, std::size_t a, std::uint64_t high, std::size_t b) {
    if (a == b) return;
    if (is_close(low, high)) {
      windows_.back().to = low;
      windows_.push_back({low + 1, low + 1, b});
      return;
    }
    const std::uint64_t middle = between(low, high);
    const std::size_t winner = fastest(middle);
    refine(low, a, middle, winner);
    refine(middle, winner, high, b);
  }

  [[nodiscard]] bool is_close(std::uint64_t low, std::uint64_t high) const {
    return high - low <= std::max<std::uint64_t>(1, low / precision_);
  }
  static std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    const auto mean = static_cast<std::uint64_t>(std::sqrt(
        static_cast<double>(std::max<std::uint64_t>(low, 1)) * static_cast<double>(high)));
    return std::clamp(mean, low + 1, high - 1);
  }

  /// How much slower than the fastest of all a window would be, at worst, without its candidate:
  /// each of its sizes goes to the better of the windows beside it.
  double loss_without(std::size_t w) {
    const Window& window = windows_[w];
    for (const std::uint64_t end : {window.from, window.to}) {
      if (!least_.contains(end)) least_[end] = time_(window.candidate, end);
    }
    double most = 0;
    const auto last = least_.upper_bound(window.to);
    for (auto it = least_.lower_bound(window.from); it != last && most < least_gain_; ++it) {
      Time other{std::numeric_limits<decltype(Time::picoseconds)>::max()};
      if (w > 0) other = time_(windows_[w - 1].candidate, it->first);
      if (w + 1 < windows_.size()) {
        other = std::min(other, time_(windows_[w + 1].candidate, it->first));
      }
      most = std::max(most, static_cast<double>(other.picoseconds) /
                                    std::max(1.0, static_cast<double>(it->second.picoseconds)) -
                                1);
    }
    return most;
  }

  /// Leaves the window out whose gain is least, if that is too little; the last one, which also
  /// serves what is larger, only if no other is. \returns whether one was
  bool merge_one() {
    const std::size_t count = windows_.size();
    std::size_t least = count;
    double loss = least_gain_;
    for (std::size_t w = 0; w < count && count > 1 && (w + 1 < count || least == count); ++w) {
      if (const double without = loss_without(w); without < loss) {
        least = w;
        loss = without;
      }
    }
    if (least == count) return false;
    leave_out(least);
    return true;
  }

  /// Gives a window's sizes to those beside it.
  void leave_out(std::size_t least) {
    const Window gone = windows_[least];
    const auto here = windows_.begin() + static_cast<std::ptrdiff_t>(least);
    const auto next = windows_.erase(here);
    if (next == windows_.begin()) {
      next->from = gone.from;
      return;
    }
    const auto before = std::prev(next);
    if (next == windows_.end()) {
      before->to = gone.to;
    } else if (before->candidate == next->candidate) {
      before->to = next->to;
      windows_.erase(next);
    } else {
      before->to = last_of(before->candidate, next->candidate, before->to, next->from);
      next->from = before->to + 1;
    }
  }

  /// The last size up to which the first of two is the faster; `high` - 1 at most.
  std::uint64_t last_of(std::size_t first, std::size_t second, std::uint64_t low,
                        std::uint64_t high) {
    while (!is_close(low, high)) {
      const std::uint64_t middle = between(low, high);
      (time_(first, middle) <= time_(second, middle) ? low : high) = middle;
    }
    return low;
  }

  std::function<std::size_t(std::uint64_t)> fastest_;
  std::function<Time(std::size_t, std::uint64_t)> time_;
  std::uint64_t precision_;
  double least_gain_;
  std::vector<Window> windows_;
  std::map<std::uint64_t, Time> least_;  // the fastest at sizes where all were compared
};

}  // namespace multitree
