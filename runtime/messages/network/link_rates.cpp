// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flows to links that are slow.
#include "runtime/messages/network/link_rates_internal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace multitree::runtime {
namespace {

using Seconds = std::chrono::duration<double>;

/// A rate is of a busy time of at least this, and of so many bytes: a few messages tell little.
constexpr double kLeastBusy = 0.03;
constexpr std::uint64_t kLeastBytes = std::uint64_t{256} << 10;
/// Which are enough to see that a link is as fast as ever.
constexpr std::uint64_t kSomeBytes = std::uint64_t{64} << 10;
/// Where the other end had no room for longer than this share of it, the link is not to blame.
constexpr double kHeld = 0.1;
/// A link counts that is busy for this share of the time, and as busy as the busiest of the rank;
/// of one that schedules have less for already less will do.
constexpr double kBusy = 0.45, kAsBusy = 0.8, kSpared = 0.25;
/// A link is slow below this share of what was told of it, and less slow above the other.
constexpr double kWorse = 0.7, kBetter = 1.3;
/// From here on it is as good as ever.
constexpr double kGood = 0.85;
/// And a link from here on shows that the rank is.
constexpr double kFast = 0.95;
/// What is usual is the mean of so many windows, and then moves with them.
constexpr int kLearning = 8;
/// A link that is told of again and again is told of at longer and longer intervals.
constexpr std::chrono::seconds kShortestHold{2}, kLongestHold{60};
constexpr std::size_t kInARow = 4;
/// After which a slow link that tells nothing is given another chance.
constexpr std::chrono::seconds kForgiven{60};

double middle_of(std::deque<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

/// `busy`: for how long a link that counts is.
bool LinkRates::counts(const Link& link, double busy) {
  return link.rate != 0 && link.busy >= (link.left < 1 ? kSpared : 1) * busy;
}

void LinkRates::learn(Link& link) {
  link.windows = std::min(link.windows + 1, kLearning);
  link.usual += (link.rate - link.usual) / link.windows;
}

void LinkRates::relearn() {
  for (auto& [peer, link] : links_) {
    if (link.left == 1) link.windows = 0;
    link.shares.clear();
  }
}

void LinkRates::tell(Link& link, double left, Clock::time_point now) {
  if (left == link.left || now - link.told < link.hold) return;
  const bool again = now - link.told < 5 * link.hold;
  link.hold = again ? std::min<Clock::duration>(2 * link.hold, kLongestHold) : kShortestHold;
  link.told = now;
  link.left = left;
}

/// It takes some windows in a row to change what is told of a link.
void LinkRates::judge(Link& link, bool another_is_fast, Clock::time_point now) {
  link.seen = now;
  if (link.windows < kLearning) return learn(link);
  const double share = link.rate / link.usual;
  link.shares.push_back(share);
  if (link.shares.size() > kInARow) link.shares.pop_front();
  if (link.shares.size() == kInARow) {
    const auto [worst, best] = std::ranges::minmax(link.shares);
    const double middle = middle_of(link.shares);
    const bool worse = middle < kWorse * link.left && best < kGood * link.left && another_is_fast;
    if (worse || worst > std::min(kGood, kBetter * link.left)) {
      tell(link, middle >= kGood ? 1 : middle, now);
    }
  }
  if (link.left == 1 && !(share < kWorse && another_is_fast)) learn(link);
}

void LinkRates::look(const std::map<Seat, Flow>& flows, Clock::time_point now) {
  const double wall = Seconds(now - std::exchange(looked_, now)).count();
  double busiest = 0;
  bool one_is_fast = false;
  for (const auto& [peer, flow] : flows) {
    Link& link = links_[peer];
    const Flow last = std::exchange(link.flow, flow).value_or(flow);
    const std::uint64_t bytes = flow.bytes - last.bytes;
    link.busy = Seconds(flow.busy - last.busy).count();
    link.rate = 0;
    const double rate = link.busy > 0 ? static_cast<double>(bytes) / link.busy : 0;
    one_is_fast |= link.windows == kLearning && bytes >= kSomeBytes && rate >= kFast * link.usual;
    busiest = std::max(busiest, link.busy);
    if (link.busy < kLeastBusy || bytes < kLeastBytes) continue;
    if (Seconds(flow.held - last.held).count() > kHeld * link.busy) continue;
    link.rate = rate;
  }
  const double busy = std::max(kAsBusy * busiest, kBusy * wall);
  for (auto& [peer, link] : links_) {
    if (counts(link, busy)) {
      judge(link, one_is_fast, now);
    } else if (now - link.seen > kForgiven) {
      link.left = 1;
    }
  }
}

std::vector<ImpairedLink> LinkRates::slow() const {
  std::vector<ImpairedLink> all;
  for (const auto& [peer, link] : links_) {
    if (link.left == 1) continue;
    const auto percent = static_cast<std::uint32_t>(std::lround(100 * link.left));
    all.push_back({peer, std::max(1U, percent)});
  }
  return all;
}

}  // namespace multitree::runtime
