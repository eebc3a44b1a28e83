// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counts chains of messages.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/certificate/latencies_internal.hpp"
#include "algorithms/certificate/time_certificate_internal.hpp"

namespace multitree {
namespace {

/// `chosen` out of `all`, at most `most`.
std::uint64_t choose(std::uint64_t all, std::uint64_t chosen, std::uint64_t most) {
  if (chosen > all) return 0;
  chosen = std::min(chosen, all - chosen);
  unsigned __int128 value = 1;
  for (std::uint64_t i = 1; i <= chosen; ++i) {
    value = value * (all - chosen + i) / i;
    if (value >= most) return most;
  }
  return static_cast<std::uint64_t>(value);
}

/// Whether messages that each inform one rank may have informed all by `time`.
class Informing {
 public:
  Informing(const std::vector<std::int64_t>& latencies, std::int64_t nearest, std::int64_t overhead)
      : latencies_(latencies), nearest_(nearest), overhead_(overhead) {}

  /// A rank that was informed along k messages, each the j-th of its sender, sum of all j = s,
  /// knows at s * overhead + max(its latency, k * nearest) at the soonest, and C(s-1, k-1) ranks at
  /// most have such a chain. Ranks that are further need chains of smaller s.
  [[nodiscard]] bool could_be_done(std::int64_t time) const {
    const std::uint64_t all = latencies_.size();
    std::uint64_t chains = 0;
    for (std::int64_t s = 1; chains < all; ++s) {
      const std::int64_t left = time - s * overhead_;
      const auto further =
          static_cast<std::uint64_t>(latencies_.end() - std::ranges::upper_bound(latencies_, left));
      if (further > chains) return false;
      if (left < 0) return false;
      chains += chains_of(static_cast<std::uint64_t>(s), left, all - chains);
    }
    return true;
  }

 private:
  /// Of any number of messages that fits, at most `most`.
  [[nodiscard]] std::uint64_t chains_of(std::uint64_t s, std::int64_t left,
                                        std::uint64_t most) const {
    std::uint64_t longest = s;
    if (nearest_ > 0) longest = std::min(s, static_cast<std::uint64_t>(left / nearest_));
    std::uint64_t count = 0;
    for (std::uint64_t k = 1; k <= longest && count < most; ++k) {
      count += choose(s - 1, k - 1, most);
    }
    return std::min(count, most);
  }

  const std::vector<std::int64_t>& latencies_;
  std::int64_t nearest_, overhead_;
};

}  // namespace

std::int64_t nearest_latency(const Topology& topology) {
  std::int64_t nearest = kNoWay;
  for (const std::int64_t one : nearest_latencies(topology)) nearest = std::min(nearest, one);
  return nearest == kNoWay ? 0 : nearest;
}

std::int64_t informing_time(const std::vector<std::int64_t>& latencies, std::int64_t nearest,
                            std::int64_t overhead) {
  if (latencies.empty()) return 0;
  const std::int64_t least = overhead + latencies.back();
  if (overhead == 0) return least;
  const Informing informing(latencies, nearest, overhead);
  std::int64_t low = least - 1, high = least;  // cannot be done, can be done
  while (!informing.could_be_done(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (informing.could_be_done(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace multitree
