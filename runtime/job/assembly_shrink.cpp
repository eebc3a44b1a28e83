// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who goes on when a job is shrunk, and whether anybody may.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/job/assembly_internal.hpp"
#include "runtime/job/tcp_internal.hpp"

namespace multitree::runtime {
namespace {

/// For a host to say whether somebody listens there, and how often it is asked: a process that dies
/// closes its door a moment after its connections, one that computes may do so for long.
constexpr std::chrono::milliseconds kKnockPatience{1000};
constexpr std::chrono::milliseconds kFirstKnocks{5}, kLaterKnocks{200};

/// How many, then who; empty if they do not ascend.
std::optional<Members> read_members(Reader& reader) {
  const auto count = reader.number();
  if (!count) return std::nullopt;
  Members members;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto member = reader.number();
    const bool ascends = members.empty() || !member || *member > index(members.back());
    if (!member || !ascends) return std::nullopt;
    members.push_back(Origin{*member});
  }
  return members;
}

}  // namespace

void write(const std::vector<Members>& unsettled, Writer& writer) {
  writer.number(static_cast<std::uint32_t>(unsettled.size()));
  for (const Members& before : unsettled) {
    writer.number(static_cast<std::uint32_t>(before.size()));
    for (const Origin one : before) writer.number(index(one));
  }
}

std::optional<std::vector<Members>> read_unsettled(Reader& reader) {
  const auto count = reader.number();
  if (!count) return std::nullopt;
  std::vector<Members> unsettled;
  for (std::uint32_t i = 0; i < *count; ++i) {
    auto before = read_members(reader);
    if (!before) return std::nullopt;
    unsettled.push_back(std::move(*before));
  }
  return unsettled;
}

std::string pack(const Standing& standing) {
  Writer writer;
  writer.number(index(standing.self)).number(standing.epoch);
  writer.number(static_cast<std::uint32_t>(standing.members.size()));
  for (const Origin one : standing.members) writer.number(index(one));
  write(standing.unsettled, writer);
  for (const auto& [a, b] : standing.dead_links) writer.number(index(a)).number(index(b));
  return writer.bytes();
}

std::optional<Standing> unpack_standing(const std::string& text) {
  Reader reader(text);
  const auto self = reader.number(), epoch = reader.number();
  if (!self || !epoch) return std::nullopt;
  auto members = read_members(reader);
  auto unsettled = read_unsettled(reader);
  if (!members || !unsettled) return std::nullopt;
  Standing standing{Origin{*self}, *epoch, std::move(*members), {}, std::move(*unsettled)};
  while (const auto a = reader.number()) {
    const auto b = reader.number();
    if (!b) return std::nullopt;
    standing.dead_links.push_back(link_between(Origin{*a}, Origin{*b}));
  }
  return has(standing.members, standing.self) ? std::optional(standing) : std::nullopt;
}

/// In charge of a job that has lost nobody and that nobody wants to shrink.
bool Assembly::is_well() const { return vote_.in_charge() && failure_.empty() && !shrink_by_; }

/// A rank that was not told of the last shrinks has the numbers of before.
const Members& Assembly::members_for(const Guest& guest) const {
  return guest.members.empty() ? members() : guest.members;
}

/// The guests that there are know what was before.
void Assembly::remember(const Members& before) {
  for (Guest& guest : guests_) {
    if (guest.origin && guest.members.empty()) guest.members = before;
  }
}

ShrinkVote::Entry Assembly::come_again(const Standing& standing) {
  if (doors_.empty()) return ShrinkVote::Entry::Elsewhere;
  const ShrinkVote before = vote_;
  const ShrinkVote::Entry entry = vote_.come_again(standing, is_well());
  if (vote_.epoch() != before.epoch()) remember(before.members());
  return entry;
}

/// A rank that has lost the coordinator in charge, or its connection to this one.
void Assembly::readmit(Guest& guest, const Frame& frame) {
  const auto standing = unpack_standing(frame.payload);
  if (!standing || index(standing->members.back()) >= states_.size()) {
    return refuse(guest, "not a rank of this job");
  }
  switch (come_again(*standing)) {
    case ShrinkVote::Entry::Elsewhere:
      guest.leaving = true;
      return guest.channel.send(FrameType::Elsewhere, {});
    case ShrinkVote::Entry::NotYet:
      return;  // one that has lost its connection unnoticed
    case ShrinkVote::Entry::LeftOut:
      return refuse(guest,
                    fmt::format("the job has gone on without this rank, {}", standing->self));
    case ShrinkVote::Entry::Welcome:
      break;
  }
  for (Guest& before : guests_) {  // what it came by before
    if (before.origin != standing->self) continue;
    before.channel.close();
    somebody_closed_ = true;
  }
  state_of(standing->self) = State::Present;
  guest.origin = standing->self;
  guest.members = standing->members;
  for (const auto& [a, b] : standing->dead_links) dead_links_.add(a, b);
  guest.channel.trust();
  guest.channel.send(FrameType::Welcome, {});
}

void Assembly::ask_to_shrink(Guest& guest, const Frame& frame) {
  Reader reader(frame.payload);
  const auto milliseconds = reader.number();
  if (!milliseconds) return lost(guest, "sent an invalid message");
  const Members& known = members_for(guest);
  while (const auto rank = reader.number()) {
    if (*rank < known.size()) dropped_.insert(known[*rank]);
  }
  guest.shrinks = true;
  guest.blob.reset();
  const auto end = Clock::now() + std::chrono::milliseconds(*milliseconds);
  shrink_by_ = std::min(shrink_by_.value_or(end), end);
  next_knock_ = Clock::now();
  knock_interval_ = kFirstKnocks;
  try_shrink();
}

Members Assembly::askers() const {
  Members all;
  for (const Guest& guest : guests_) {
    const bool stays = guest.channel.open() && guest.origin && !guest.leaving;
    if (stays && guest.shrinks && is_member(*guest.origin)) all.push_back(*guest.origin);
  }
  std::ranges::sort(all);
  return all;
}

/// Once everybody who is there has asked, or time is up.
void Assembly::try_shrink() {
  if (!shrink_by_) return;
  const bool late = Clock::now() >= *shrink_by_;
  for (const Guest& guest : guests_) {
    if (!guest.channel.open() || !guest.origin || guest.leaving) continue;
    if (!guest.shrinks && !late && !dropped_.contains(*guest.origin)) return;
  }
  Members survivors = askers();
  if (survivors.empty()) return end_shrinking();  // who asked has died
  std::string why;
  switch (judge(survivors, late, why)) {
    case ShrinkVote::Verdict::Wait:
      return;
    case ShrinkVote::Verdict::Stop:
      return stop(why);
    case ShrinkVote::Verdict::GoOn:
      return go_on_with(std::move(survivors));
  }
}

Members Assembly::gone() const {
  Members gone;
  for (const Origin one : members()) {
    const bool left = states_[index(one)] == State::Left;
    if (left || dropped_.contains(one)) gone.push_back(one);
  }
  return gone;
}

std::vector<Presence> Assembly::knock_at(const Members& members) const {
  std::vector<const Door*> doors;
  for (const Origin one : members) doors.push_back(&doors_.at(index(one)));
  return knock(doors, kKnockPatience);
}

/// ShrinkVote::judge() with its knocks, which are made now and then.
ShrinkVote::Verdict Assembly::judge(const Members& askers, bool late, std::string& why) {
  using Verdict = ShrinkVote::Verdict;
  if (doors_.empty()) return Verdict::GoOn;  // there is one place to meet
  const Members others = vote_.others(askers, gone());
  const Members rivals = vote_.rivals(askers, gone());
  const bool plain = vote_.needs_no_knock(askers, others);
  const bool rivalled = !vote_.outnumbers(askers, rivals);
  if (plain && !rivalled) return Verdict::GoOn;
  const auto begin = Clock::now();
  if (!late && begin < next_knock_) return Verdict::Wait;
  ShrinkVote::Judgement judgement{Verdict::GoOn, {}};
  if (!plain) judgement = ShrinkVote::judge(askers, others, knock_at(others), late);
  if (judgement.verdict == Verdict::GoOn && rivalled) {
    judgement = vote_.judge_rivals(askers, rivals, knock_at(rivals), late);
  }
  // Nobody is answered meanwhile: as long again is for those that come.
  const Clock::duration took = Clock::now() - begin;
  next_knock_ = begin + took + std::max<Clock::duration>(knock_interval_, took);
  knock_interval_ = std::min(2 * knock_interval_, kLaterKnocks);
  const auto& [verdict, elsewhere] = judgement;
  if (verdict != Verdict::Stop) return verdict;
  std::vector<Seat> numbers;
  for (const Origin one : elsewhere)
    numbers.push_back(is_member(one) ? seat_of(one) : Seat{index(one)});
  why = fmt::format(
      "cannot go on: only {} of {} ranks have met again, and rank {} may go on without them",
      askers.size(), members().size(), fmt::join(numbers, ", "));
  return verdict;
}

/// What a rank said before it asked was about the old job, and what it is told from here on is
/// about the new one: no frame can be mistaken.
void Assembly::go_on_with(Members survivors) {
  LinksLeft left;
  for (const Guest& guest : guests_) {
    if (guest.shrinks && guest.left) left[*guest.origin] = *guest.left;
  }
  dead_links_.leave_out_cut_off(survivors, left);
  remember(members());
  vote_.go_on_with(survivors, gone());
  for (Guest* told : in_order_of_telling()) {
    Guest& guest = *told;
    if (!guest.origin || guest.leaving) continue;
    const bool asked = std::exchange(guest.shrinks, false);
    if (!has(survivors, *guest.origin)) {
      state_of(*guest.origin) = State::Dead;
      refuse(guest,
             asked ? "left out: all links of this rank are dead"
                   : "left out: the others have gone on without this rank",
             FrameType::LeftOut);
      continue;
    }
    Writer numbers;
    numbers.number(vote_.epoch()).number(static_cast<std::uint32_t>(survivors.size()));
    for (const Origin one : survivors) {
      numbers.number(index(seat_in(members_for(guest), one)));
    }
    write(vote_.unsettled(), numbers);
    dead_links_.write(survivors, numbers);
    guest.left.reset();
    guest.channel.send(FrameType::Shrunk, numbers.bytes());
  }
  for (Guest& guest : guests_) guest.members.clear();
  gathers_ = 0;
  somebody_left_ = false;
  failure_.clear();
  end_shrinking();
}

void Assembly::stop(const std::string& why) {
  for (Guest& guest : guests_) {
    if (guest.origin && !guest.leaving && std::exchange(guest.shrinks, false)) refuse(guest, why);
  }
  end_shrinking();
}

void Assembly::end_shrinking() {
  shrink_by_.reset();
  dropped_.clear();
}

void Assembly::links_died(Guest& guest, const Frame& frame) {
  Reader reader(frame.payload);
  const auto why = reader.text();
  const auto dead = reader.number();
  std::vector<Seat> peers;
  while (const auto peer = reader.number()) peers.push_back(Seat{*peer});
  const Members& known = members_for(guest);
  const Seat rank = seat_in(known, *guest.origin);
  const auto wrong = [&](Seat peer) { return index(peer) >= known.size() || peer == rank; };
  if (!why || dead.value_or(0) == 0 || *dead > peers.size() ||
      std::any_of(peers.begin(), peers.end(), wrong)) {
    return lost(guest, "sent an invalid message");
  }
  guest.left.emplace();
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Origin end = known[index(peers[i])];
    if (i < *dead) {
      dead_links_.add(*guest.origin, end);
    } else {
      guest.left->push_back(end);
    }
  }
  broadcast_failure(fmt::format("rank {}: {}", rank, *why), &guest,
                    link_between(rank, peers.front()));
}

}  // namespace multitree::runtime
