// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who goes on when a job is shrunk, and whether anybody may.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/job/coordinator_server_internal.hpp"
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
  writer.number(standing.seat).number(standing.epoch);
  writer.number(static_cast<std::uint32_t>(standing.members.size()));
  for (const std::uint32_t seat : standing.members) writer.number(seat);
  for (const DeadLink& link : standing.dead_links) writer.number(link.a).number(link.b);
  return writer.bytes();
}

std::optional<Standing> unpack_standing(const std::string& text) {
  Reader reader(text);
  const auto seat = reader.number(), epoch = reader.number(), members = reader.number();
  if (!seat || !epoch || !members) return std::nullopt;
  Standing standing{*seat, *epoch, {}, {}};
  for (std::uint32_t i = 0; i < *members; ++i) {
    const auto member = reader.number();
    if (!member) return std::nullopt;
    standing.members.push_back(*member);
  }
  while (const auto a = reader.number()) {
    const auto b = reader.number();
    if (!b) return std::nullopt;
    standing.dead_links.push_back(link_between(*a, *b));
  }
  return has(standing.members, *seat) ? std::optional(standing) : std::nullopt;
}

/// The rank that whoever sits there has now.
std::uint32_t Coordinator::Server::number_of(std::uint32_t seat) const {
  return place_of(members_, seat);
}

bool Coordinator::Server::is_member(std::uint32_t seat) const { return has(members_, seat); }

/// In charge of a job that has lost nobody and that nobody wants to shrink.
bool Coordinator::Server::is_well() const { return in_charge_ && failure_.empty() && !shrink_by_; }

/// A rank that was not told of the last shrinks has the numbers of before.
const std::vector<std::uint32_t>& Coordinator::Server::members_for(const Guest& guest) const {
  return guest.members.empty() ? members_ : guest.members;
}

/// Whoever was shrunk last knows best; and then somebody else was in charge.
void Coordinator::Server::adopt(const Standing& standing) {
  if (standing.epoch <= epoch_) return;
  for (Guest& guest : guests_) {
    if (guest.rank && guest.members.empty()) guest.members = members_;
  }
  epoch_ = standing.epoch;
  members_ = standing.members;
  in_charge_ = false;
}

/// A rank that has lost the coordinator in charge, or its connection to this one.
void Coordinator::Server::readmit(Guest& guest, const Frame& frame) {
  Reader reader(frame.payload);
  const auto magic = reader.text(), token = reader.text(), words = reader.text();
  const auto standing = words ? unpack_standing(*words) : std::nullopt;
  if (magic != kMagic || token != token_ || !standing ||
      standing->members.back() >= seats_.size()) {
    return refuse(guest, kWrongToken, FrameType::Stranger);
  }
  if (doors_.empty() || (retired_ && !in_charge_)) {
    guest.leaving = true;
    return guest.channel.send(FrameType::Elsewhere, {});
  }
  // Nobody has a reason to come again. One that has lost its connection unnoticed is heard once the
  // connection has ended here as well.
  if (is_well() && is_member(standing->seat)) return;
  if (!is_well()) adopt(*standing);
  if (!is_member(standing->seat)) {
    return refuse(guest, fmt::format("the job has gone on without this rank, {}", standing->seat));
  }
  for (Guest& before : guests_) {
    if (before.rank == standing->seat) before.channel.close();  // what it came by before
  }
  seats_[standing->seat] = Seat::Present;
  guest.rank = standing->seat;
  guest.members = standing->members;
  for (const DeadLink& link : standing->dead_links) dead_links_.add(link.a, link.b);
  guest.channel.set_limit(std::size_t{1} << 30);
  guest.channel.send(FrameType::Welcome, {});
}

void Coordinator::Server::ask_to_shrink(Guest& guest, const Frame& frame) {
  Reader reader(frame.payload);
  const auto milliseconds = reader.number();
  if (!milliseconds) return lost(guest, "sent an invalid message");
  const std::vector<std::uint32_t>& members = members_for(guest);
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

std::vector<std::uint32_t> Coordinator::Server::askers() const {
  std::vector<std::uint32_t> seats;
  for (const Guest& guest : guests_) {
    const bool stays = guest.channel.open() && guest.rank && !guest.leaving;
    if (stays && guest.shrinks && is_member(*guest.rank)) seats.push_back(*guest.rank);
  }
  std::ranges::sort(seats);
  return seats;
}

/// Once everybody who is there has asked, or time is up.
void Coordinator::Server::try_shrink() {
  if (!shrink_by_) return;
  const bool late = Clock::now() >= *shrink_by_;
  for (const Guest& guest : guests_) {
    if (!guest.channel.open() || !guest.rank || guest.leaving) continue;
    if (!guest.shrinks && !late && !dropped_.contains(*guest.rank)) return;
  }
  std::vector<std::uint32_t> survivors = askers();
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
Coordinator::Server::Verdict Coordinator::Server::judge(const std::vector<std::uint32_t>& askers,
                                                        bool late, std::string& why) {
  if (doors_.empty()) return Verdict::GoOn;  // there is one place to meet
  std::vector<std::uint32_t> others;
  for (const std::uint32_t seat : members_) {
    const bool gone = seats_[seat] == Seat::Left || dropped_.contains(seat);
    if (!has(askers, seat) && !gone) others.push_back(seat);
  }
  if (others.empty() || (in_charge_ && askers.size() > others.size())) return Verdict::GoOn;
  if (!late && Clock::now() < next_knock_) return Verdict::Wait;
  std::vector<const Door*> doors;
  for (const std::uint32_t seat : others) doors.push_back(&doors_.at(seat));
  const std::vector<Presence> answers = knock(doors, kKnockPatience);
  next_knock_ = Clock::now() + knock_interval_;
  knock_interval_ = std::min(2 * knock_interval_, kLaterKnocks);
  std::vector<std::uint32_t> elsewhere;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (answers[i] == Presence::There && !late) return Verdict::Wait;  // it may ask still
    if (answers[i] != Presence::Gone) elsewhere.push_back(others[i]);
  }
  if (askers.size() > elsewhere.size()) return Verdict::GoOn;
  if (askers.size() == elsewhere.size() && askers.front() < elsewhere.front()) return Verdict::GoOn;
  std::vector<std::uint32_t> numbers;
  for (const std::uint32_t seat : elsewhere) numbers.push_back(number_of(seat));
  why = fmt::format(
      "cannot go on: only {} of {} ranks have met again, and rank {} may go on without them",
      askers.size(), members_.size(), fmt::join(numbers, ", "));
  return Verdict::Stop;
}

/// What a rank said before it asked was about the old job, and what it is told from here on is
/// about the new one: no frame can be mistaken.
void Coordinator::Server::go_on_with(std::vector<std::uint32_t> survivors) {
  LinksLeft left;
  for (const Guest& guest : guests_) {
    if (guest.shrinks && guest.left) left[*guest.rank] = *guest.left;
  }
  dead_links_.leave_out_cut_off(survivors, left);
  ++epoch_;
  for (Guest& guest : guests_) {
    if (!guest.rank || guest.leaving) continue;
    const bool asked = std::exchange(guest.shrinks, false);
    if (!has(survivors, *guest.rank)) {
      seats_[*guest.rank] = Seat::Dead;
      refuse(guest,
             asked ? "left out: all links of this rank are dead"
                   : "left out: the others have gone on without this rank",
             FrameType::LeftOut);
      continue;
    }
    Writer numbers;
    numbers.number(epoch_).number(static_cast<std::uint32_t>(survivors.size()));
    for (const std::uint32_t seat : survivors) numbers.number(place_of(members_for(guest), seat));
    dead_links_.write(survivors, numbers);
    guest.left.reset();
    guest.channel.send(FrameType::Shrunk, numbers.bytes());
  }
  for (Guest& guest : guests_) guest.members.clear();
  members_ = std::move(survivors);
  in_charge_ = true;
  failure_.clear();
  end_shrinking();
}

void Coordinator::Server::stop(const std::string& why) {
  for (Guest& guest : guests_) {
    if (guest.rank && !guest.leaving && std::exchange(guest.shrinks, false)) refuse(guest, why);
  }
  end_shrinking();
}

void Coordinator::Server::end_shrinking() {
  shrink_by_.reset();
  dropped_.clear();
}

void Coordinator::Server::links_died(Guest& guest, const Frame& frame) {
  Reader reader(frame.payload);
  const auto why = reader.text();
  const auto dead = reader.number();
  std::vector<std::uint32_t> peers;
  while (const auto peer = reader.number()) peers.push_back(*peer);
  const std::vector<std::uint32_t>& members = members_for(guest);
  const std::uint32_t rank = place_of(members, *guest.rank);
  const auto wrong = [&](std::uint32_t peer) { return peer >= members.size() || peer == rank; };
  if (!why || dead.value_or(0) == 0 || *dead > peers.size() ||
      std::any_of(peers.begin(), peers.end(), wrong)) {
    return lost(guest, "sent an invalid message");
  }
  guest.left.emplace();
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const std::uint32_t seat = members[peers[i]];
    if (i < *dead) {
      dead_links_.add(*guest.rank, seat);
    } else {
      guest.left->push_back(seat);
    }
  }
  broadcast_failure(fmt::format("rank {}: {}", rank, *why), &guest,
                    link_between(rank, peers.front()));
}

}  // namespace multitree::runtime
