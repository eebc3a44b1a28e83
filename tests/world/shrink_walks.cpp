// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Walks by seed through the model of shrinking, where there is too much for every order.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/world/shrink_lines.hpp"
#include "tests/world/shrink_model.hpp"
#include "tests/world/shrink_steps.hpp"
#include "tests/world/world.hpp"

namespace multitree::runtime::world {
namespace {

/// How much sooner than others something happens, which each walk draws anew for each kind of event
/// and each rank: so some ranks are slow, and in some walks deadlines pass before answers come.
constexpr std::array<std::uint64_t, 4> kHaste{1, 10, 100, 100};
/// Everything else happens so much sooner than a fault: they are to come late as well.
constexpr std::uint64_t kPatience = 12;
/// Percent of the ranks that learn late that the job has failed: others count without them.
constexpr std::uint64_t kAskLate = 35;
/// Percent of the steps at which a coordinator dies that has told some and not all.
constexpr std::uint64_t kDeathsInTelling = 30;
/// Ranks look for a place to meet again and again: a walk takes some fifty steps.
constexpr std::size_t kLongest = 20'000;

bool is_fault(const Event& event) {
  return event.what == Happens::Dies || event.what == Happens::Cut || event.what == Happens::Ends;
}

/// One that has told some who goes on, while what it says to others is under way; kNobody: none.
std::uint8_t in_telling(const ShrinkState& state, std::uint8_t ranks) {
  for (std::uint8_t host = 0; host < ranks; ++host) {
    const Phase phase = state.ranks[host].phase;
    if (!state.hosts[host].in_charge || phase == Phase::Dead || phase == Phase::Ended) continue;
    bool told = false, untold = false;
    for (const Line& line : lines(state)) {
      if (line.host != host || line.rank == host || !line.rank_open) continue;
      const bool comes =
          std::any_of(line.down.words.begin(), line.down.words.begin() + line.down.count,
                      [](const Words& words) { return words.what == Says::Shrunk; });
      untold = untold || comes;
      told = told || (!comes && state.hosts[host].epoch > 0 &&
                      state.ranks[line.rank].epoch == state.hosts[host].epoch);
    }
    if (told && untold) return host;
  }
  return kNobody;
}

class Walk {
 public:
  Walk(const Steps& steps, std::uint64_t seed) : steps_(steps), random_(seed) {
    for (std::uint64_t& haste : kinds_) haste = random_.one_of(kHaste);
    for (std::uint64_t& haste : ranks_) haste = random_.one_of(kHaste);
    for (bool& late : asks_late_) late = random_.chance(kAskLate);
  }

  /// What is wrong, or empty.
  std::string run() {
    while (taken_.size() < kLongest) {
      std::vector<Event> events = steps_.possible(state_);
      if (events.empty()) return steps_.check_end(state_);
      std::string wrong = step(events);
      if (!wrong.empty()) return wrong;
    }
    return fmt::format("after {} steps no end", kLongest);
  }

  [[nodiscard]] const ShrinkState& state() const { return state_; }
  [[nodiscard]] std::size_t length() const { return taken_.size(); }
  [[nodiscard]] bool died_in_telling() const { return died_in_telling_; }

  [[nodiscard]] std::vector<std::string> trace() const {
    std::vector<std::string> words;
    ShrinkState state = steps_.first();
    for (const Event& event : taken_) {
      words.push_back(words_of(event, state));
      static_cast<void>(steps_.take(state, event));
    }
    return words;
  }

 private:
  /// One that changes something: a coordinator that looks again may find what it knows.
  std::string step(std::vector<Event>& events) {
    const ShrinkState before = state_;
    while (!events.empty()) {
      const Event event = choose(events);
      std::string wrong = steps_.take(state_, event);
      if (!wrong.empty() || std::memcmp(&before, &state_, sizeof before) != 0) {
        taken_.push_back(event);
        return wrong;
      }
      std::erase_if(events, [&](const Event& one) {
        return one.what == event.what && one.a == event.a && one.b == event.b;
      });
    }
    return "nothing that may happen changes anything";
  }

  Event choose(const std::vector<Event>& events) {
    const std::uint8_t teller = in_telling(state_, steps_.bounds().ranks);
    const auto death = std::ranges::find_if(
        events, [&](const Event& e) { return e.what == Happens::Dies && e.a == teller; });
    if (death != events.end() && random_.chance(kDeathsInTelling)) {
      died_in_telling_ = true;
      return *death;
    }
    std::uint64_t sum = 0;
    for (const Event& event : events) sum += haste_of(event);
    std::uint64_t drawn = random_.below(sum);
    for (const Event& event : events) {
      const std::uint64_t haste = haste_of(event);
      if (drawn < haste) return event;
      drawn -= haste;
    }
    return events.back();
  }

  [[nodiscard]] std::uint64_t haste_of(const Event& event) const {
    if (is_fault(event) || (event.what == Happens::Asks && asks_late_[event.a])) return 1;
    const bool of_line = event.what == Happens::Up || event.what == Happens::Down ||
                         event.what == Happens::HostSees || event.what == Happens::RankSees;
    const bool of_host = event.what == Happens::Knocks || event.what == Happens::Late;
    const std::uint64_t whose =
        of_host ? 1 : ranks_[of_line ? state_.lines[event.a].rank : event.a];
    return kPatience * kinds_[static_cast<std::size_t>(event.what)] * whose;
  }

  const Steps& steps_;
  Random random_;
  std::array<std::uint64_t, static_cast<std::size_t>(Happens::Ends) + 1> kinds_{};
  std::array<std::uint64_t, kMost> ranks_{};
  std::array<bool, kMost> asks_late_{};
  ShrinkState state_ = steps_.first();
  std::vector<Event> taken_;
  bool died_in_telling_ = false;
};

}  // namespace

ShrinkResult walk_shrink(const ShrinkBounds& bounds, std::uint64_t seed, std::uint64_t walks) {
  const Steps steps(bounds);
  ShrinkResult result;
  for (std::uint64_t i = 0; i < walks && result.wrong.empty(); ++i) {
    Walk walk(steps, seed + i);
    result.wrong = walk.run();
    result.states += walk.length();
    result.died_in_telling += walk.died_in_telling() ? 1 : 0;
    result.split_after_death += Steps::is_split(walk.state()) ? 1 : 0;
    const auto& ranks = walk.state().ranks;
    const bool works = std::any_of(ranks.begin(), ranks.begin() + bounds.ranks,
                                   [](const auto& one) { return one.phase == Phase::Working; });
    (works ? result.went_on : result.stopped) += 1;
    if (result.wrong.empty()) continue;
    result.wrong = fmt::format("walk {}: {}", seed + i, result.wrong);
    result.trace = walk.trace();
  }
  return result;
}

}  // namespace multitree::runtime::world
