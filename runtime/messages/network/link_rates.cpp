// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flows to links that are slow.
#include "runtime/messages/network/link_rates_internal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace multitree::runtime {
namespace {

using Seconds = std::chrono::duration<double>;

/// A rate is of a busy time of at least this, and of so many bytes: a few messages tell little.
constexpr double kLeastBusy = 0.03;
constexpr double kLeastBytes = 256 << 10;
/// Which are enough to see that a link is as fast as ever.
constexpr double kSomeBytes = 64 << 10;
/// Where the other end had no room for longer than this share of it, the link is not to blame.
constexpr double kHeld = 0.1;
/// A link counts that was busy for this share of the last seconds, and as busy as the busiest of
/// the rank; of one that schedules have less for already less will do.
constexpr double kLately = 0.5, kBusy = 0.45, kAsBusy = 0.8, kSpared = 0.25;
/// A link is slow below this share of what was told of it, and less slow above the other.
constexpr double kWorse = 0.7, kBetter = 1.3;
/// From here on it is as good as ever.
constexpr double kGood = 0.85;
/// And up to here no better than told.
constexpr double kNoBetter = 1.15;
/// And a link from here on shows that the rank is.
constexpr double kFast = 0.9;
/// What is usual is of so many busy seconds, and then moves with them.
constexpr double kLearning = 1;
/// Something new is told after so many seconds. One window is no more than a quarter of them,
/// however long; one that speaks against it takes away so many times its length.
constexpr double kEnough = 0.5, kOpposed = 3;
/// A link that is told of again and again is told of at longer and longer intervals.
constexpr std::chrono::seconds kShortestHold{2}, kLongestHold{60};
/// After which a slow link that tells nothing is given another chance.
constexpr std::chrono::seconds kForgiven{60};

}  // namespace

LinkRates::Sent& LinkRates::Sent::operator+=(const Sent& other) {
  time += other.time;
  busy += other.busy;
  bytes += other.bytes;
  return *this;
}

void LinkRates::Sent::add_moving(const Sent& other, double most) {
  *this += other;
  if (busy <= most) return;
  bytes *= most / busy;
  busy = most;
}

void LinkRates::Evidence::weigh(const Sent& window, bool supports, bool opposes) {
  if (!opposes) sent.add_moving(window, kEnough);
  if (supports) time = std::min(time + std::min(window.time, kEnough / 4), kEnough);
  if (opposes) time -= kOpposed * window.time;
  if (time <= 0) *this = {};
}

bool LinkRates::Evidence::is_enough() const { return time >= kEnough; }

LinkRates::Sent LinkRates::sent_lately(const Link& link) {
  return std::accumulate(link.lately.begin(), link.lately.end(), Sent{},
                         [](Sent sum, const Sent& window) { return sum += window; });
}

bool LinkRates::knows_usual(const Link& link) { return link.usual.busy >= kLearning; }

bool LinkRates::counts(const Link& link, double busiest) {
  const Sent sent = sent_lately(link);
  const double least = std::max(kAsBusy * busiest, kBusy * sent.time);
  return sent.busy >= (link.left < 1 ? kSpared : 1) * least;
}

bool LinkRates::is_fast(const Link& link) {
  const Sent sent = sent_lately(link);
  return knows_usual(link) && sent.bytes >= kSomeBytes && sent.rate() >= kFast * link.usual.rate();
}

void LinkRates::overlook() {
  for (auto& [peer, link] : links_) link.flow.reset();
}

void LinkRates::relearn() {
  for (auto& [peer, link] : links_) {
    if (link.left == 1 && link.worse.time < kEnough / 2) {
      link.usual = {};
      link.worse = {};
    }
    link.better = {};
    link.lately.clear();
  }
}

void LinkRates::tell(Link& link, double left, Clock::time_point now) {
  if (left == link.left || now - link.told < link.hold) return;
  const bool again = now - link.told < 5 * link.hold;
  link.hold = again ? std::min<Clock::duration>(2 * link.hold, kLongestHold) : kShortestHold;
  link.told = now;
  link.left = left;
  link.worse = link.better = {};
}

void LinkRates::judge(Link& link, const Sent& window, bool another_is_fast, Clock::time_point now) {
  link.seen = now;
  if (!knows_usual(link)) return link.usual.add_moving(window, kLearning);
  const double usual = link.usual.rate(), share = window.rate() / usual;
  const bool worse = share < kWorse * link.left && another_is_fast;
  link.worse.weigh(window, worse, share >= kGood * link.left);
  if (link.left < 1)
    link.better.weigh(window, share > std::min(kGood, kBetter * link.left),
                      share < std::min(kGood, kNoBetter * link.left));
  if (link.left == 1 && link.worse.time == 0) link.usual.add_moving(window, kLearning);
  for (const Evidence* evidence : {&link.worse, &link.better}) {
    if (!evidence->is_enough()) continue;
    const double left = evidence->sent.rate() / usual;
    return tell(link, left >= kGood ? 1 : left, now);
  }
}

/// What was sent in the window that ends; none while it goes on.
std::optional<LinkRates::Sent> LinkRates::end_window(Link& link, const Flow& flow,
                                                     Clock::time_point now) {
  if (!link.flow) {
    link.flow = flow;
    link.since = now;
    return std::nullopt;
  }
  Sent sent{.time = Seconds(now - link.since).count(),
            .busy = Seconds(flow.busy - link.flow->busy).count(),
            .bytes = static_cast<double>(flow.bytes - link.flow->bytes)};
  const bool tells_little = sent.busy < kLeastBusy || sent.bytes < kLeastBytes;
  if (tells_little && now - link.since < kLongest) return std::nullopt;
  sent.held = tells_little || Seconds(flow.held - link.flow->held).count() > kHeld * sent.busy;
  link.flow = flow;
  link.since = now;
  link.lately.push_back(sent);
  while (link.lately.size() > 1 && sent_lately(link).time > kLately) link.lately.pop_front();
  return sent;
}

void LinkRates::look(const std::map<Seat, Flow>& flows, Clock::time_point now) {
  looked_ = now;
  std::map<Seat, Sent> ended;
  for (const auto& [peer, flow] : flows) {
    if (const auto sent = end_window(links_[peer], flow, now)) ended.emplace(peer, *sent);
  }
  double busiest = 0;
  bool one_is_fast = false;
  for (const auto& [peer, link] : links_) {
    busiest = std::max(busiest, sent_lately(link).busy);
    one_is_fast |= is_fast(link);
  }
  for (auto& [peer, link] : links_) {
    const auto sent = ended.find(peer);
    if (sent != ended.end() && !sent->second.held && counts(link, busiest)) {
      judge(link, sent->second, one_is_fast, now);
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
