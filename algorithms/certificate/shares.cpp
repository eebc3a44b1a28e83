// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Evaluates what TimeReason::Shares proves, in whole picoseconds.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "algorithms/certificate/growth_internal.hpp"
#include "algorithms/certificate/time_certificate_internal.hpp"

namespace multitree {
namespace {

/// Of all shares together: a share is cut into as many units as that allows, and into kMostOfShare
/// at most. Finer ones would prove little more.
constexpr std::uint64_t kMostUnits = 1024, kMostOfShare = 8;

/// How long units of data are under way on the fastest link into any rank, rounded down.
class UnitTimes {
 public:
  UnitTimes(std::uint64_t bytes, std::uint64_t divisor, std::uint64_t rate)
      : bytes_(bytes), divisor_(divisor), rate_(rate) {}
  [[nodiscard]] std::int64_t of(std::uint64_t units) const {
    constexpr __int128 kPicosecondsASecond = 1'000'000'000'000;
    constexpr __int128 kMost = std::numeric_limits<std::int64_t>::max() / 4;
    // The factors of the left side are below 2^64, 2^40 and 2^10.
    const __int128 time = bytes_ * kPicosecondsASecond / divisor_ * units / rate_;
    return static_cast<std::int64_t>(std::min(time, kMost));
  }

 private:
  __int128 bytes_, divisor_, rate_;
};

}  // namespace

Time shares_time(const TimeCertificate& certificate, const Topology& topology,
                 std::int64_t nearest) {
  const std::uint64_t ranks = topology.num_ranks();
  if (ranks > kMostUnits) return {};
  const std::uint64_t of_share = std::min(kMostOfShare, kMostUnits / ranks);
  std::uint64_t fastest = 1;
  for (const GrowthTarget& target : growth_targets(topology)) {
    fastest = std::max(fastest, target.fastest);
  }
  const std::uint64_t pairs = growth_need(certificate.collective, topology.num_ranks()).pairs;
  const UnitTimes units(certificate.bytes, pairs * of_share, fastest);
  // By the units that a rank has to keep or to send on: what it takes until the last one is where
  // it belongs. A rank keeps a share. Of the rest a first message takes some on, and what stays is
  // as if the rank had got it when that message had left.
  std::vector<std::int64_t> least(ranks * of_share + 1, 0);
  for (std::uint64_t all = of_share + 1; all < least.size(); ++all) {
    const auto sent_on = [&](std::uint64_t some) {
      return nearest + units.of(some - 1) + least[some];
    };
    // The more goes on, the longer that takes, and the shorter what stays: they meet here.
    std::uint64_t low = 1, high = all - 1;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (sent_on(middle) >= least[all - middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    std::int64_t best = std::max(sent_on(low), least[all - low]);
    if (low > 1) best = std::min(best, std::max(sent_on(low - 1), least[all - low + 1]));
    least[all] = certificate.message_overhead.picoseconds + best;
  }
  return {least.back()};
}

}  // namespace multitree
