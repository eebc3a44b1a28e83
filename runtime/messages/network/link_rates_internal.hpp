// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast what is sent over each link leaves, and which links have become slow.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "runtime/job/links.hpp"

namespace multitree::runtime {

/// What a connection has done so far, as the kernel says.
struct Flow {
  std::uint64_t bytes = 0;            ///< that the other end has acknowledged
  std::chrono::microseconds busy{0};  ///< something was on its way or waited to be
  std::chrono::microseconds held{0};  ///< so long of it the other end had no room
};

/// The rates of a rank's links while they are busy. A slow link is the busiest of its rank, as the
/// others wait for what it brings elsewhere, and it sends less in that time than it usually does
/// while another sends as much as ever. Who is slow on all links has none to blame.
class LinkRates {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether enough time has passed for look().
  [[nodiscard]] bool is_due(Clock::time_point now) const { return now - looked_ >= kWindow; }
  /// All links at the same moment.
  void look(const std::map<Seat, Flow>& flows, Clock::time_point now);
  /// Links carry other messages from now on, so that what was usual is learnt anew.
  void relearn();
  /// Its next flow is another connection's.
  void begin_anew(Seat peer) { links_[peer].flow.reset(); }
  /// Links that have become slow, ascending, with what is left of their rates. One stays slow, at
  /// the same percentage, until that has changed by a lot or nothing was sent over it for long.
  [[nodiscard]] std::vector<ImpairedLink> slow() const;

 private:
  static constexpr std::chrono::milliseconds kWindow{150};
  struct Link {
    std::optional<Flow> flow;   ///< when it was last looked at
    double rate = 0, busy = 0;  ///< since then: bytes in a busy second, busy seconds
    double usual = 0;           ///< rate, of so many windows
    int windows = 0;
    std::deque<double> shares;  ///< of the usual rate, in the last windows that counted
    double left = 1;            ///< as told
    Clock::time_point told, seen;
    Clock::duration hold{0};  ///< until it may be told anew
  };
  [[nodiscard]] static bool counts(const Link& link, double busy);
  static void learn(Link& link);
  static void judge(Link& link, bool another_is_fast, Clock::time_point now);
  static void tell(Link& link, double left, Clock::time_point now);

  std::map<Seat, Link> links_;
  Clock::time_point looked_;
};

}  // namespace multitree::runtime
