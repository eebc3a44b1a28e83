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

}  // namespace

std::string pack(const Standing& standing) {
  Writer writer;
  writer.number(index(standing.self)).number(standing.epoch);
  writer.number(static_cast<std::uint32_t>(standing.members.size()));
  for (const Origin one : standing.members) writer.number(index(one));
  for (const auto& [a, b] : standing.dead_links) writer.number(index(a)).number(index(b));
  return writer.bytes();
}

std::optional<Standing> unpack_standing(const std::string& text) {
  Reader reader(text);
  const auto self = reader.number(), epoch = reader.number(), members = reader.number();
  if (!self || !epoch || !members) return std::nullopt;
  Standing standing{Origin{*self}, *epoch, {}, {}};
  for (std::uint32_t i = 0; i < *members; ++i) {
    const auto member = reader.number();
    const bool ascends =
        standing.members.empty() || !member || *member > index(standing.members.back());
    if (!member || !ascends) return std::nullopt;
    standing.members.push_back(Origin{*member});
  }
  while (const auto a = reader.number()) {
    const auto b = reader.number();
    if (!b) return std::nullopt;
    standing.dead_links.push_back(link_between(Origin{*a}, Origin{*b}));
  }
  return has(standing.members, standing.self) ? std::optional(standing) : std::nullopt;
}

/// In charge of a job that has lost nobody and that nobody wants to shrink.
bool Assembly::is_well() const { return in_charge_ && failure_.empty() && !shrink_by_; }

/// A rank that was not told of the last shrinks has the numbers of before.
const Members& Assembly::members_for(const Guest& guest) const {
  return guest.members.empty() ? members_ : guest.members;
}

/// Whoever was shrunk last knows best; and then somebody else was in charge.
void Assembly::adopt(const Standing& standing) {
  if (standing.epoch <= epoch_) return;
  for (Guest& guest : guests_) {
    if (guest.origin && guest.members.empty()) guest.members = members_;
  }
  epoch_ = standing.epoch;
  members_ = standing.members;
  in_charge_ = false;
}

/// A rank that has lost the coordinator in charge, or its connection to this one.
void Assembly::readmit(Guest& guest, const Frame& frame) {
  const auto standing = unpack_standing(frame.payload);
  if (!standing || index(standing->members.back()) >= states_.size()) {
    return refuse(guest, "not a rank of this job");
  }
  if (doors_.empty() || (retired_ && !in_charge_)) {
    guest.leaving = true;
    return guest.channel.send(FrameType::Elsewhere, {});
  }
  // Nobody has a reason to come again. One that has lost its connection unnoticed is heard once the
  // connection has ended here as well.
  if (is_well() && is_member(standing->self)) return;
  if (!is_well()) adopt(*standing);
  if (!is_member(standing->self)) {
    return refuse(guest, fmt::format("the job has gone on without this rank, {}", standing->self));
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
  const Members& members = members_for(guest);
  while (const auto rank = reader.number()) {
    if (*rank < members.size()) dropped_.insert(members[*rank]);
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
    case Verdict::Wait:
      return;
    case Verdict::Stop:
      return stop(why);
    case Verdict::GoOn:
      return go_on_with(std::move(survivors));
  }
}

/// Two halves that cannot see each other must not both go on. Those that ask may if they are more
/// than the others of which nobody knows that they are gone; or as many, with the lowest rank of
/// all among them. Each half counts the other in full, so that not both can find that.
Assembly::Verdict Assembly::judge(const Members& askers, bool late, std::string& why) {
  if (doors_.empty()) return Verdict::GoOn;  // there is one place to meet
  Members others;
  for (const Origin one : members_) {
    const bool gone = state_of(one) == State::Left || dropped_.contains(one);
    if (!has(askers, one) && !gone) others.push_back(one);
  }
  if (others.empty() || (in_charge_ && askers.size() > others.size())) return Verdict::GoOn;
  if (!late && Clock::now() < next_knock_) return Verdict::Wait;
  std::vector<const Door*> doors;
  for (const Origin one : others) doors.push_back(&doors_.at(index(one)));
  const std::vector<Presence> answers = knock(doors, kKnockPatience);
  next_knock_ = Clock::now() + knock_interval_;
  knock_interval_ = std::min(2 * knock_interval_, kLaterKnocks);
  Members elsewhere;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (answers[i] == Presence::There && !late) return Verdict::Wait;  // it may ask still
    if (answers[i] != Presence::Gone) elsewhere.push_back(others[i]);
  }
  if (askers.size() > elsewhere.size()) return Verdict::GoOn;
  if (askers.size() == elsewhere.size() && askers.front() < elsewhere.front()) return Verdict::GoOn;
  std::vector<Seat> numbers;
  for (const Origin one : elsewhere) numbers.push_back(seat_of(one));
  why = fmt::format(
      "cannot go on: only {} of {} ranks have met again, and rank {} may go on without them",
      askers.size(), members_.size(), fmt::join(numbers, ", "));
  return Verdict::Stop;
}

/// What a rank said before it asked was about the old job, and what it is told from here on is
/// about the new one: no frame can be mistaken.
void Assembly::go_on_with(Members survivors) {
  LinksLeft left;
  for (const Guest& guest : guests_) {
    if (guest.shrinks && guest.left) left[*guest.origin] = *guest.left;
  }
  dead_links_.leave_out_cut_off(survivors, left);
  ++epoch_;
  for (Guest& guest : guests_) {
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
    numbers.number(epoch_).number(static_cast<std::uint32_t>(survivors.size()));
    for (const Origin one : survivors) {
      numbers.number(index(seat_in(members_for(guest), one)));
    }
    dead_links_.write(survivors, numbers);
    guest.left.reset();
    guest.channel.send(FrameType::Shrunk, numbers.bytes());
  }
  for (Guest& guest : guests_) guest.members.clear();
  members_ = std::move(survivors);
  gathers_ = 0;
  somebody_left_ = false;
  in_charge_ = true;
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
  const Members& members = members_for(guest);
  const Seat rank = seat_in(members, *guest.origin);
  const auto wrong = [&](Seat peer) { return index(peer) >= members.size() || peer == rank; };
  if (!why || dead.value_or(0) == 0 || *dead > peers.size() ||
      std::any_of(peers.begin(), peers.end(), wrong)) {
    return lost(guest, "sent an invalid message");
  }
  guest.left.emplace();
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Origin end = members[index(peers[i])];
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
