// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shares of time, from what each rank has added up.
#include "runtime/flight/pace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/job/blame_internal.hpp"

namespace multitree::runtime::flight {
namespace {

constexpr double kNanoseconds = 1e9;
/// The least time that says anything.
constexpr double kLeast = 1.0;
/// Of the time, that others wait for a slow rank, and the receiver of a slow link for it.
constexpr double kWaits = 0.2, kLinkWaits = 0.33;
/// Between who is slow and everybody else.
constexpr double kApart = 2.0;

const Waited* waited_for(const Flight& flight, std::uint32_t rank) {
  const auto found = std::ranges::find(flight.waited, rank, &Waited::rank);
  return found == flight.waited.end() ? nullptr : &*found;
}

/// Shares of the time between two looks at a communicator.
class Shares {
 public:
  Shares(const FlightJob& job, const FlightJob* before, std::int64_t now_ns)
      : job_(job), before_(before) {
    std::int64_t begin = before == nullptr ? job.flights.front().made_ns : before->read_ns;
    for (const Flight& flight : job.flights) {
      if (before == nullptr) begin = std::max(begin, flight.made_ns);
    }
    seconds_ = static_cast<double>(now_ns - begin) / kNanoseconds;
  }
  [[nodiscard]] double seconds() const { return seconds_; }
  /// In which a rank waited for anybody.
  [[nodiscard]] double waited(std::uint32_t rank) const {
    const Flight* const old = earlier(rank);
    return share(job_.flights[rank].waited_ns, old == nullptr ? 0 : old->waited_ns);
  }
  /// In which it waited for what `from` was to send.
  [[nodiscard]] double awaited(std::uint32_t rank, std::uint32_t from) const {
    return of(rank, from, &Waited::received_ns);
  }
  /// In which it waited while something was on its way to `to`.
  [[nodiscard]] double sent(std::uint32_t rank, std::uint32_t to) const {
    return of(rank, to, &Waited::sent_ns);
  }

 private:
  [[nodiscard]] const Flight* earlier(std::uint32_t rank) const {
    if (before_ == nullptr) return nullptr;
    const auto found = std::ranges::find(before_->flights, rank, &Flight::rank);
    return found == before_->flights.end() ? nullptr : &*found;
  }
  [[nodiscard]] double of(std::uint32_t rank, std::uint32_t peer,
                          std::uint64_t Waited::*time) const {
    const Flight* const old = earlier(rank);
    const Waited* const now = waited_for(job_.flights[rank], peer);
    const Waited* const then = old == nullptr ? nullptr : waited_for(*old, peer);
    return share(now == nullptr ? 0 : now->*time, then == nullptr ? 0 : then->*time);
  }
  [[nodiscard]] double share(std::uint64_t now, std::uint64_t then) const {
    return now < then ? 0 : static_cast<double>(now - then) / kNanoseconds / seconds_;
  }

  const FlightJob& job_;
  const FlightJob* before_;
  double seconds_ = 0;
};

/// "the last 2.0 s, at last in allreduce #7 of 8 float, sum".
std::string words_of_time(const FlightJob& job, const Shares& shares) {
  std::string words = fmt::format("the last {:.1f} s", shares.seconds());
  const auto latest = std::ranges::max_element(job.flights, {}, &Flight::begun);
  if (latest->calls.empty()) return words;
  const LoggedCall& call = latest->calls.back();
  const std::size_t name = call.words.find(' ');
  return fmt::format("{}, at last in {} #{}{}", words, call.words.substr(0, name), call.number,
                     call.words.substr(std::min(name, call.words.size())));
}

/// "80-90 %", "80 %".
std::string words_of_shares(double least, double most) {
  const std::string low = fmt::format("{:.0f}", 100 * least),
                    high = fmt::format("{:.0f}", 100 * most);
  return low == high ? low + " %" : fmt::format("{}-{} %", low, high);
}

std::optional<std::string> slow_rank(const FlightJob& job, const Shares& shares) {
  std::uint32_t slow = 0;
  for (std::uint32_t r = 1; r < job.ranks; ++r) {
    if (shares.waited(r) < shares.waited(slow)) slow = r;
  }
  double least = 1, most = 0, direct = 0;
  std::vector<bool> others(job.ranks, true);
  others[slow] = false;
  for (std::uint32_t r = 0; r < job.ranks; ++r) {
    if (r == slow) continue;
    least = std::min(least, shares.waited(r));
    most = std::max(most, shares.waited(r));
    direct = std::max(direct, shares.awaited(r, slow));
  }
  const bool is_slow =
      least > kWaits && least > kApart * shares.waited(slow) && direct > kWaits / 2;
  if (!is_slow) return std::nullopt;
  return fmt::format("rank {} is slow: {} waited {} of {}, and it {:.0f} %", slow, words_of(others),
                     words_of_shares(least, most), words_of_time(job, shares),
                     100 * shares.waited(slow));
}

std::optional<std::string> slow_link(const FlightJob& job, const Shares& shares) {
  double most = 0, next = 0;
  std::pair<std::uint32_t, std::uint32_t> link;
  for (std::uint32_t from = 0; from < job.ranks; ++from) {
    for (std::uint32_t to = 0; to < job.ranks; ++to) {
      const double share = std::min(shares.sent(from, to), shares.awaited(to, from));
      next = std::max(next, std::min(share, most));
      if (share > most) link = {from, to};
      most = std::max(most, share);
    }
  }
  if (most < kLinkWaits || most < kApart * next) return std::nullopt;
  return fmt::format(
      "link {0}>{1} is slow: rank {1} waited {2:.0f} % of {3} for what rank {0} had handed to the "
      "network",
      link.first, link.second, 100 * most, words_of_time(job, shares));
}

/// Ranks in order, all of them, and nobody has failed.
bool is_whole(const FlightJob& job) {
  if (job.ranks < 2 || job.flights.size() != job.ranks) return false;
  return std::ranges::all_of(job.flights, [](const Flight& flight) {
    return flight.failure.empty() && flight.life != Life::Dead;
  });
}

}  // namespace

std::string find_slow(const FlightJob& job, const FlightJob* before, std::int64_t now_ns) {
  if (!is_whole(job)) return {};
  const Shares shares(job, before, now_ns);
  if (shares.seconds() < kLeast) return {};
  if (auto words = slow_rank(job, shares)) return *words;
  return slow_link(job, shares).value_or("");
}

void find_slow(std::vector<FlightJob>& jobs, const std::vector<FlightJob>& before,
               std::int64_t now_ns) {
  for (FlightJob& job : jobs) {
    const auto same = std::ranges::find(before, job.job, &FlightJob::job);
    // One that keeps others waiting for good is no matter of pace.
    if (job.blame.empty())
      job.slow = find_slow(job, same == before.end() ? nullptr : &*same, now_ns);
  }
}

}  // namespace multitree::runtime::flight
