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
/// while another sends as much as ever. Who is slow on all links has none to blame. How long that
/// has been so is added up, window by window, and what speaks against it counts more: so neither a
/// hiccup nor rates that vary make a link slow, and one at half its rate is within half a second.
class LinkRates {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether enough time has passed for look().
  [[nodiscard]] bool is_due(Clock::time_point now) const { return now - looked_ >= kShortest; }
  /// All links at the same moment.
  void look(const std::map<Seat, Flow>& flows, Clock::time_point now);
  /// What has passed since the last look tells nothing, and what goes on now neither.
  void overlook();
  /// Links carry other messages from now on, so that what was usual is learnt anew; not of those
  /// that are about to be told of.
  void relearn();
  /// Its next flow is another connection's.
  void begin_anew(Seat peer) { links_[peer].flow.reset(); }
  /// Links that have become slow, ascending, with what is left of their rates. One stays slow, at
  /// the same percentage, until that has changed by a lot or nothing was sent over it for long.
  [[nodiscard]] std::vector<ImpairedLink> slow() const;

 private:
  /// Of a window, or of some: seconds, seconds of them in which the link was busy, bytes.
  struct Sent {
    double time = 0, busy = 0, bytes = 0;
    bool held = false;  ///< the other end had no room
    [[nodiscard]] double rate() const { return busy > 0 ? bytes / busy : 0; }
    Sent& operator+=(const Sent& other);
    /// Of the last `most` busy seconds, about.
    void add_moving(const Sent& other, double most);
  };
  /// That a link is not what is told of it.
  struct Evidence {
    Sent sent;        ///< in the windows that do not speak against it
    double time = 0;  ///< those that speak for it, less those that speak against it
    void weigh(const Sent& window, bool supports, bool opposes);
    [[nodiscard]] bool is_enough() const;
  };
  struct Link {
    std::optional<Flow> flow;  ///< when the window began
    Clock::time_point since;   ///< which was then
    Sent usual;                ///< of so much busy time
    std::deque<Sent> lately;   ///< windows
    Evidence worse, better;
    double left = 1;  ///< as told
    Clock::time_point told, seen;
    Clock::duration hold{0};  ///< until it may be told anew
  };
  static std::optional<Sent> end_window(Link& link, const Flow& flow, Clock::time_point now);
  [[nodiscard]] static Sent sent_lately(const Link& link);
  [[nodiscard]] static bool knows_usual(const Link& link);
  [[nodiscard]] static bool counts(const Link& link, double busiest);
  [[nodiscard]] static bool is_fast(const Link& link);
  static void judge(Link& link, const Sent& window, bool another_is_fast, Clock::time_point now);
  static void tell(Link& link, double left, Clock::time_point now);

  /// Of a window; a link that tells little in the one has until the other.
  static constexpr std::chrono::milliseconds kShortest{50}, kLongest{150};

  std::map<Seat, Link> links_;
  Clock::time_point looked_;
};

}  // namespace multitree::runtime
