// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules for what is left of links that have fallen silent or become slow, and the way back.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/execution/plan_vote_internal.hpp"
#include "runtime/execution/planned_internal.hpp"

namespace multitree::runtime {

/// How many calls were begun lately.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  void begin(Clock::time_point now);
  /// In the last span, and some of the one before.
  [[nodiscard]] std::uint64_t lately(Clock::time_point now) const;

 private:
  static constexpr std::chrono::milliseconds kSpan{50};
  Clock::time_point since_;
  std::uint64_t now_ = 0, before_ = 0;  ///< in this span, and in the one before
};

/// Of one communicator whose links may fall silent or slow without ending calls. It tells the other
/// ranks of this one's, makes schedules in a thread of its own while calls go on, and goes over to
/// them at the call that all agree on (PlanVote). Where there are none, those there are stay.
class Replanner {
 public:
  /// `first`: what the communicator begins with, which is what `remaking` is of. `timeout`: longest
  /// wait for the others in one call.
  Replanner(Planned first, std::shared_ptr<const Remaking> remaking, Deadline timeout);
  ~Replanner();
  Replanner(const Replanner&) = delete;
  Replanner& operator=(const Replanner&) = delete;

  /// What this call runs, which is begun after that; null: what the communicator began with.
  /// Progresses the engine while others are waited for. \pre under the engine's guard
  /// \throws Error as Engine::poll(), Error(Timeout)
  Planned* in_force(std::uint64_t sequence);
  /// The same of the call before.
  [[nodiscard]] Planned* latest();

 private:
  using Clock = std::chrono::steady_clock;
  /// Schedules that were made or are being made.
  struct Work {
    std::uint32_t change = 0;
    PlanVote::Links around;
    std::atomic<bool> done{false};
    std::shared_ptr<Programs> programs;  ///< null: the first
    std::string why_not;                 ///< empty: they are there
    bool told = false;
  };
  /// From a call on.
  struct Edition {
    std::uint64_t first = 0;
    std::optional<Planned> planned;  ///< none: the first
  };

  std::string hear(Seat from, const std::string& words);
  void look();
  void look_if_due();
  [[nodiscard]] std::vector<ImpairedLink> impaired_links();
  /// What is to be said of this rank's links, if anything is.
  std::optional<std::string> news_of_links(Clock::time_point now);
  /// Of schedules that all are making.
  std::optional<std::string> news_of_work();
  void start_work(std::uint32_t change, const PlanVote::Links& around);
  void make(Work& work, const std::vector<SizedSchedules>& lists) const;
  void adopt(const PlanVote::Decision& decision);
  void wait_for_others(Clock::time_point since);
  [[nodiscard]] Planned* edition_of(std::uint64_t sequence);

  Planned first_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Remaking> remaking_;
  Deadline timeout_;
  std::vector<ImpairedLink> links_, told_;  ///< as seen, and as told
  Clock::time_point changed_;               ///< when links_ were last others
  std::optional<Clock::time_point> tell_again_;
  Clock::time_point looked_;
  std::shared_ptr<Work> work_;
  std::thread worker_;

  mutable std::mutex mutex_;  ///< of the rest, as words are heard in any thread
  PlanGate gate_;
  Pace pace_;
  std::deque<Edition> editions_;
};

}  // namespace multitree::runtime
