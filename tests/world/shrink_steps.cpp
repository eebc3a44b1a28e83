// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks and coordinators do, as Tcp (tcp_shrink.cpp) and Assembly do it.
#include "tests/world/shrink_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tests/world/shrink_lines.hpp"

namespace multitree::runtime::world {
namespace {

Standing standing_of(const RankState& rank, std::uint8_t number) {
  return {Origin{number}, rank.epoch, members_in(rank.members), {}, memberships_in(rank.unsettled)};
}

/// Those of its members that are not among these.
Members left_before(const ShrinkVote& vote, const Members& these) {
  Members gone;
  std::ranges::set_difference(vote.members(), these, std::back_inserter(gone));
  return gone;
}

/// The vote of a coordinator as it stands: what it has come to, by the ways that it comes to it.
ShrinkVote vote_of(const HostState& host, std::uint8_t ranks) {
  ShrinkVote vote(ranks, host.epoch == 0 && host.in_charge != 0);
  if (host.retired != 0) vote.retire();
  if (host.epoch == 0) return vote;
  const Members members = members_in(host.members);
  Standing known{members.front(), host.epoch, members, {}, memberships_in(host.unsettled)};
  if (host.in_charge == 0) {
    vote.adopt(known);
    return vote;
  }
  --known.epoch;
  const bool settled = known.unsettled.empty();
  if (!settled) {
    known.members = known.unsettled.back();
    known.unsettled.pop_back();
  }
  if (known.epoch != 0) vote.adopt(known);
  vote.go_on_with(members, left_before(vote, known.members));
  if (settled) vote.settle();
  return vote;
}

void keep(const ShrinkVote& vote, HostState& host) {
  host.epoch = static_cast<std::uint8_t>(vote.epoch());
  host.members = mask_of(vote.members());
  host.in_charge = vote.in_charge() ? 1 : 0;
  host.unsettled = masks_of(vote.unsettled());
}

/// Assembly::askers().
std::uint8_t askers_at(const ShrinkState& state, std::uint8_t host) {
  std::uint8_t all = 0;
  for (const Line& line : lines(state)) {
    const bool stays = line.host == host && line.host_open && line.known && !line.leaving;
    if (stays && line.asked) all |= bit(line.rank);
  }
  return all & state.hosts[host].members;
}

}  // namespace

ShrinkState Steps::first() const {
  ShrinkState state{};
  for (std::uint8_t r = 0; r < bounds_.ranks; ++r) {
    const auto all = static_cast<std::uint8_t>((1U << bounds_.ranks) - 1);
    state.ranks[r] = {Phase::Working, 0, all, 0, {}};
    state.hosts[r] = {0, all, r == 0, 0, r == 0, 0, 0, 0, {}};
    Line& line = add_line(state, r, 0);
    line.known = 1;
  }
  return state;
}

void Steps::begin_to_shrink(ShrinkState& state, std::uint8_t rank) const {
  Line* const line = line_of(state, rank);
  if (line == nullptr) {
    state.ranks[rank].phase = Phase::Seeking;
    return seek(state, rank);
  }
  push(line->up, says(Says::Ask));
  state.ranks[rank].phase = Phase::Asking;
}

void Steps::seek(ShrinkState& state, std::uint8_t rank) const {
  const Standing standing = standing_of(state.ranks[rank], rank);
  const std::vector<Presence> answers = knock(state, rank, members_below(standing));
  state.ranks[rank].places = mask_of(places_to_meet(standing, answers));
}

void Steps::go_to_next(ShrinkState& state, std::uint8_t rank) const {
  RankState& self = state.ranks[rank];
  if (self.places == 0) return seek(state, rank);
  const auto place = static_cast<std::uint8_t>(std::countr_zero(self.places));
  self.places &= static_cast<std::uint8_t>(~bit(place));
  if (knock(state, rank, place) != Presence::There) return;
  Line& line = add_line(state, rank, place);
  push(line.up, {Says::Rejoin, self.epoch, self.members, self.unsettled});
  self.phase = Phase::Knocking;
}

/// Tcp::receive() of a rank that waits.
std::string Steps::hear(ShrinkState& state, std::uint8_t number) const {
  Line& line = state.lines[number];
  const Words words = pop(line.down);
  RankState& self = state.ranks[line.rank];
  switch (words.what) {
    case Says::Welcome:
      push(line.up, says(Says::Ask));
      self.phase = Phase::Asking;
      return {};
    case Says::Elsewhere:
      self.phase = Phase::Seeking;
      close_rank(line);
      return {};
    case Says::Refused:
      self.phase = Phase::Stopped;
      return {};
    case Says::LeftOut:
      self.phase = Phase::Stopped;
      state.hosts[line.rank].retired = 1;  // Coordinator::retire()
      return {};
    case Says::Shrunk:
      be_told(state, line, words);
      return {};
    case Says::Gathered:
      return go_on(state, line.rank);
    default:
      return "a rank was told what only a rank says";
  }
}

void Steps::be_told(ShrinkState& state, Line& line, const Words& words) const {
  RankState& self = state.ranks[line.rank];
  self.epoch = words.epoch;
  self.members = words.members;
  self.unsettled = words.unsettled;
  HostState& own = state.hosts[line.rank];
  ShrinkVote vote = vote_of(own, bounds_.ranks);
  vote.adopt(standing_of(self, line.rank));  // Coordinator::stand_by()
  keep(vote, own);
  if ((words.members & bit(line.host)) == 0) {  // Tcp::under_a_member()
    close_rank(line);
    self.phase = Phase::Seeking;
    return seek(state, line.rank);
  }
  self.phase = Phase::Told;
  push(line.up, says(Says::Gather));
}

/// Its calls run among those from here on.
std::string Steps::go_on(ShrinkState& state, std::uint8_t rank) const {
  RankState& self = state.ranks[rank];
  self.phase = Phase::Working;
  self.unsettled = {};
  const Job job{self.epoch, self.members};
  for (std::uint8_t i = 0; i < state.jobs_count; ++i) {
    const Job& other = state.jobs[i];
    if (other.epoch == job.epoch && other.members == job.members) return {};
  }
  state.jobs[state.jobs_count++] = job;
  std::sort(state.jobs.begin(), state.jobs.begin() + state.jobs_count,
            [](const Job& a, const Job& b) {
              return std::pair(a.epoch, a.members) < std::pair(b.epoch, b.members);
            });
  if (!is_split(state) || state.tainted) return {};
  return fmt::format("rank {} goes on in job {} of ranks {}, and others have in another", rank,
                     job.epoch, words_of_members(job.members));
}

bool Steps::is_split(const ShrinkState& state) {
  for (std::uint8_t i = 1; i < state.jobs_count; ++i) {
    const Job &before = state.jobs[i - 1], &job = state.jobs[i];
    if (before.epoch == job.epoch || (job.members & ~before.members) != 0) return true;
  }
  return false;
}

/// Assembly::handle().
void Steps::serve(ShrinkState& state, std::uint8_t number) const {
  Line& line = state.lines[number];
  const std::uint8_t host = line.host;
  const Words words = pop(line.up);
  if (line.leaving) return;
  switch (words.what) {
    case Says::Rejoin:
      readmit(state, line, words);
      return;
    case Says::Ask:
      if (!line.known) return;
      line.asked = 1;
      line.gathered = 0;
      state.hosts[host].shrinking = 1;
      return try_shrink(state, host);
    case Says::Gather:
      line.gathered = 1;
      return try_gather(state, host);
    case Says::Bye:
      state.hosts[host].left |= bit(line.rank);
      line.leaving = 1;
      return try_shrink(state, host);
    default:
      return;
  }
}

void Steps::readmit(ShrinkState& state, Line& line, const Words& words) const {
  HostState& host = state.hosts[line.host];
  ShrinkVote vote = vote_of(host, bounds_.ranks);
  const bool well = vote.in_charge() && !host.failed && !host.shrinking;
  const Standing standing{Origin{line.rank},
                          words.epoch,
                          members_in(words.members),
                          {},
                          memberships_in(words.unsettled)};
  const ShrinkVote::Entry entry = vote.come_again(standing, well);
  keep(vote, host);
  if (entry == ShrinkVote::Entry::NotYet) return;
  if (entry != ShrinkVote::Entry::Welcome) {
    line.leaving = 1;
    const bool elsewhere = entry == ShrinkVote::Entry::Elsewhere;
    return push(line.down, says(elsewhere ? Says::Elsewhere : Says::Refused));
  }
  for (Line& other : lines(state)) {
    const bool same = &other != &line && other.rank == line.rank && other.host == line.host;
    if (same && other.known) close_host(other);
  }
  host.left &= static_cast<std::uint8_t>(~bit(line.rank));
  line.known = 1;
  push(line.down, says(Says::Welcome));
}

void Steps::lose_guest(ShrinkState& state, std::uint8_t number) const {
  Line& line = state.lines[number];
  const std::uint8_t host = line.host;
  if (line.known && !line.leaving) state.hosts[host].failed = 1;
  close_host(line);
  try_shrink(state, host);
}

void Steps::try_shrink(ShrinkState& state, std::uint8_t number) const {
  HostState& host = state.hosts[number];
  if (!host.shrinking) return;
  for (const Line& line : lines(state)) {
    const bool stays = line.host == number && line.host_open && line.known && !line.leaving;
    if (stays && !line.asked && !host.late) return;
  }
  const std::uint8_t all = askers_at(state, number);
  if (all == 0) {
    host.shrinking = host.late = 0;
    return;
  }
  const Members askers = members_in(all);
  ShrinkVote vote = vote_of(host, bounds_.ranks);
  const Members others = vote.others(askers, members_in(host.left));
  const bool late = host.late != 0;
  auto verdict = ShrinkVote::Verdict::GoOn;
  if (!vote.needs_no_knock(askers, others)) {
    verdict = ShrinkVote::judge(askers, others, knock(state, number, others), late).verdict;
  }
  const Members rivals = vote.rivals(askers, members_in(host.left));
  if (verdict == ShrinkVote::Verdict::GoOn && !vote.outnumbers(askers, rivals)) {
    verdict = vote.judge_rivals(askers, rivals, knock(state, number, rivals), late).verdict;
  }
  if (verdict == ShrinkVote::Verdict::Wait) return;
  host.shrinking = host.late = 0;
  const bool goes_on = verdict == ShrinkVote::Verdict::GoOn;
  if (goes_on) {
    vote.go_on_with(askers, members_in(host.left));
    keep(vote, host);
    host.failed = 0;
  }
  for (Line& line : lines(state)) {
    if (line.host != number || !line.host_open || !line.known || line.leaving) continue;
    const bool asked = std::exchange(line.asked, std::uint8_t{0}) != 0;
    line.gathered = 0;
    if (goes_on && (all & bit(line.rank)) != 0) {
      push(line.down, {Says::Shrunk, host.epoch, all, host.unsettled});
    } else if (goes_on || asked) {
      line.leaving = 1;
      push(line.down, says(goes_on ? Says::LeftOut : Says::Refused));
    }
  }
}

void Steps::try_gather(ShrinkState& state, std::uint8_t number) const {
  std::uint8_t come = 0;
  for (const Line& line : lines(state)) {
    if (line.host == number && line.host_open && line.gathered) come |= bit(line.rank);
  }
  if (come != state.hosts[number].members) return;
  state.hosts[number].unsettled = {};  // ShrinkVote::settle()
  for (Line& line : lines(state)) {
    if (line.host != number || !line.host_open || !line.gathered) continue;
    line.gathered = 0;
    push(line.down, says(Says::Gathered));
  }
}

void Steps::end_process(ShrinkState& state, std::uint8_t rank, Phase as) const {
  state.ranks[rank].phase = as;
  for (Line& line : lines(state)) {
    if (line.rank == rank && line.rank_open) {
      if (as == Phase::Ended) push(line.up, says(Says::Bye));
      close_rank(line);
    }
    if (line.host == rank) close_host(line);
  }
}

void Steps::lose_host(ShrinkState& state, Line& line) const {
  close_rank(line);
  RankState& self = state.ranks[line.rank];
  // Who had been told of a job that then did not come about has an error, as after any call.
  if (self.phase == Phase::Told) self.phase = Phase::Stopped;
  if (self.phase != Phase::Asking && self.phase != Phase::Knocking) return;
  const bool asked = self.phase == Phase::Asking;
  self.phase = Phase::Seeking;
  if (asked) seek(state, line.rank);
}

std::string Steps::take(ShrinkState& state, const Event& event) const {
  std::string wrong;
  switch (event.what) {
    case Happens::Asks:
      begin_to_shrink(state, event.a);
      break;
    case Happens::Seeks:
      seek(state, event.a);
      break;
    case Happens::Tries:
      go_to_next(state, event.a);
      break;
    case Happens::Up:
      serve(state, event.a);
      break;
    case Happens::Down:
      wrong = hear(state, event.a);
      break;
    case Happens::HostSees:
      lose_guest(state, event.a);
      break;
    case Happens::RankSees:
      lose_host(state, state.lines[event.a]);
      break;
    case Happens::Knocks:
      try_shrink(state, event.a);
      break;
    case Happens::Late:
      state.hosts[event.a].late = 1;
      try_shrink(state, event.a);
      break;
    case Happens::TimesOut:
      if (Line* const line = line_of(state, event.a)) close_rank(*line);
      state.ranks[event.a].phase =
          state.ranks[event.a].phase == Phase::Knocking ? Phase::Seeking : Phase::Stopped;
      break;
    case Happens::Dies: {
      const RankState& self = state.ranks[event.a];
      if (self.epoch > 0) state.tainted = 1;
      ++state.deaths;
      end_process(state, event.a, Phase::Dead);
      break;
    }
    case Happens::Cut:
      ++state.cuts;
      state.cut[event.a] |= bit(event.b);
      if (!bounds_.one_way) state.cut[event.b] |= bit(event.a);
      break;
    case Happens::Ends:
      if (state.ranks[event.a].epoch > 0) state.tainted = 1;
      end_process(state, event.a, Phase::Ended);
      break;
  }
  tidy(state);
  return wrong;
}

}  // namespace multitree::runtime::world
