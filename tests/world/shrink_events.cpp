// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What may happen next in the model of shrinking, and how it ends.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "tests/world/shrink_lines.hpp"
#include "tests/world/shrink_steps.hpp"

namespace multitree::runtime::world {

std::string words_of_members(std::uint8_t mask) {
  return fmt::format("{{{}}}", fmt::join(members_in(mask), ", "));
}

void tidy(ShrinkState& state) {
  const auto all = lines(state);
  const auto rest = std::ranges::remove_if(
      all, [](const Line& line) { return line.rank_open == 0 && line.host_open == 0; });
  for (Line& line : rest) line = {};
  state.lines_count -= static_cast<std::uint8_t>(rest.size());
  std::ranges::stable_sort(
      lines(state), [](const Line& a, const Line& b) { return std::memcmp(&a, &b, sizeof a) < 0; });
}

bool Steps::passes(const ShrinkState& state, std::uint8_t from, std::uint8_t to) const {
  return from == to || (state.cut[from] & bit(to)) == 0;
}

Presence Steps::knock(const ShrinkState& state, std::uint8_t from, std::uint8_t to) const {
  if (!passes(state, from, to) || !passes(state, to, from)) return Presence::Silent;
  const Phase phase = state.ranks[to].phase;
  return phase == Phase::Dead || phase == Phase::Ended ? Presence::Gone : Presence::There;
}

std::vector<Presence> Steps::knock(const ShrinkState& state, std::uint8_t from,
                                   const Members& doors) const {
  std::vector<Presence> answers;
  for (const Origin one : doors) {
    answers.push_back(knock(state, from, static_cast<std::uint8_t>(index(one))));
  }
  return answers;
}

/// A process that ends may take along what it had sent, so the end may be seen before that. Where
/// nothing passes either end may notice at any time.
void Steps::add_line_events(const ShrinkState& state, std::vector<Event>& events) const {
  for (std::uint8_t i = 0; i < state.lines_count; ++i) {
    const Line& line = state.lines[i];
    const bool up = passes(state, line.rank, line.host), down = passes(state, line.host, line.rank);
    const bool broken = !up || !down;
    if (line.host_open && line.up.count != 0 && up) events.push_back({Happens::Up, i});
    if (line.rank_open && line.down.count != 0 && down) events.push_back({Happens::Down, i});
    if (line.host_open && (broken || (!line.rank_open))) events.push_back({Happens::HostSees, i});
    if (line.rank_open && (broken || (!line.host_open))) events.push_back({Happens::RankSees, i});
  }
}

void Steps::add_faults(const ShrinkState& state, std::vector<Event>& events) const {
  for (std::uint8_t r = 0; r < bounds_.ranks; ++r) {
    const Phase phase = state.ranks[r].phase;
    const bool lives = phase != Phase::Dead && phase != Phase::Ended;
    if (!lives) continue;
    if (state.deaths < bounds_.deaths) events.push_back({Happens::Dies, r});
    if (bounds_.exits && phase == Phase::Stopped) events.push_back({Happens::Ends, r});
    if (state.cuts == bounds_.cuts) continue;
    for (std::uint8_t other = 0; other < bounds_.ranks; ++other) {
      const bool whole = other != r && passes(state, r, other);
      if (whole && (bounds_.one_way || other > r)) events.push_back({Happens::Cut, r, other});
    }
  }
}

/// Who waits, when nothing else is left to happen.
void Steps::add_time_outs(const ShrinkState& state, std::vector<Event>& events) const {
  for (std::uint8_t r = 0; r < bounds_.ranks; ++r) {
    const Phase phase = state.ranks[r].phase;
    const bool waits = phase == Phase::Knocking || phase == Phase::Asking || phase == Phase::Told;
    if (waits) events.push_back({Happens::TimesOut, r});
  }
}

/// What a rank hears that changes nothing but what it does next: all orders of that and of what
/// others do come to the same. So it is the next thing that happens, unless a fault is.
std::optional<Event> Steps::eager(const ShrinkState& state) const {
  for (std::uint8_t i = 0; i < state.lines_count; ++i) {
    const Line& line = state.lines[i];
    const bool whole = line.rank_open && line.host_open && passes(state, line.host, line.rank) &&
                       passes(state, line.rank, line.host);
    if (!whole) continue;
    const Says up = line.up.count == 0 ? Says::Gather : line.up.words[0].what;
    if (bounds_.coarse && up != Says::Gather) return Event{Happens::Up, i};
    const Says down = line.down.count == 0 ? Says::Shrunk : line.down.words[0].what;
    const bool keeps = down == Says::Shrunk || (bounds_.coarse && down == Says::Gathered);
    if (!keeps) return Event{Happens::Down, i};
  }
  return std::nullopt;
}

bool Steps::has_lost_somebody(const ShrinkState& state, std::uint8_t rank) const {
  for (std::uint8_t other = 0; other < bounds_.ranks; ++other) {
    if ((state.ranks[rank].members & bit(other)) == 0) continue;
    if (state.ranks[other].phase == Phase::Dead || !passes(state, rank, other)) return true;
  }
  return false;
}

void Steps::add_rank_events(const ShrinkState& state, std::vector<Event>& events) const {
  for (std::uint8_t r = 0; r < bounds_.ranks; ++r) {
    const RankState& rank = state.ranks[r];
    const bool again = rank.epoch < bounds_.epochs && has_lost_somebody(state, r);
    if (rank.phase == Phase::Working && (rank.epoch == 0 || again)) {
      events.push_back({Happens::Asks, r});
    }
    if (rank.phase == Phase::Seeking) events.push_back({Happens::Tries, r});
  }
}

void Steps::add_host_events(const ShrinkState& state, std::vector<Event>& events) const {
  const bool quiet = std::ranges::none_of(events, [](const Event& event) {
    return event.what == Happens::Up || event.what == Happens::Down || event.what == Happens::Tries;
  });
  for (std::uint8_t r = 0; r < bounds_.ranks; ++r) {
    const HostState& host = state.hosts[r];
    const Phase phase = state.ranks[r].phase;
    if (phase == Phase::Dead || phase == Phase::Ended || !host.shrinking || host.late) continue;
    events.push_back({Happens::Knocks, r});
    if (quiet || !bounds_.patient) events.push_back({Happens::Late, r});
  }
}

std::vector<Event> Steps::possible(const ShrinkState& state) const {
  std::vector<Event> events;
  if (const auto one = eager(state)) {
    events.push_back(*one);
    if (bounds_.coarse) return events;
  } else {
    add_line_events(state, events);
    add_rank_events(state, events);
    add_host_events(state, events);
  }
  if (events.empty()) add_time_outs(state, events);
  if (!events.empty()) add_faults(state, events);
  return events;
}

std::string Steps::check_end(const ShrinkState& state) const {
  for (std::uint8_t r = 0; r < bounds_.ranks; ++r) {
    const RankState& rank = state.ranks[r];
    const bool over = rank.phase == Phase::Working || rank.phase == Phase::Stopped ||
                      rank.phase == Phase::Ended || rank.phase == Phase::Dead;
    if (!over) return fmt::format("rank {} waits for ever", r);
  }
  return {};
}

std::string words_of(const Event& event, const ShrinkState& state) {
  const auto line = [&] { return state.lines[event.a]; };
  static constexpr std::array kSays{
      "who it is",   "that it asks to shrink",        "that it is there", "goodbye",
      "welcome",     "that this is no place to meet", "a refusal",        "that it is left out",
      "who goes on", "that all of them are there"};
  switch (event.what) {
    case Happens::Asks:
      return fmt::format("rank {} sees that the job has failed, and shrinks it", event.a);
    case Happens::Seeks:
      return fmt::format("rank {} knocks at doors", event.a);
    case Happens::Tries:
      return fmt::format("rank {} looks for a place to meet", event.a);
    case Happens::Up:
      return fmt::format("the coordinator of rank {} hears {} from rank {}", line().host,
                         kSays[static_cast<std::size_t>(line().up.words[0].what)], line().rank);
    case Happens::Down:
      return fmt::format("rank {} hears {} from the coordinator of rank {} ({} {})", line().rank,
                         kSays[static_cast<std::size_t>(line().down.words[0].what)], line().host,
                         line().down.words[0].epoch,
                         words_of_members(line().down.words[0].members));
    case Happens::HostSees:
      return fmt::format("the coordinator of rank {} loses rank {}", line().host, line().rank);
    case Happens::RankSees:
      return fmt::format("rank {} loses the coordinator of rank {}", line().rank, line().host);
    case Happens::Knocks:
      return fmt::format("the coordinator of rank {} looks again", event.a);
    case Happens::Late:
      return fmt::format("the deadline of the coordinator of rank {} passes", event.a);
    case Happens::TimesOut:
      return fmt::format("the deadline of rank {} passes", event.a);
    case Happens::Dies:
      return fmt::format("rank {} dies", event.a);
    case Happens::Cut:
      return fmt::format("nothing passes from rank {} to rank {} any more", event.a, event.b);
    case Happens::Ends:
      return fmt::format("the process of rank {} ends", event.a);
  }
  return {};
}

}  // namespace multitree::runtime::world
