// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Asking ranks where they are.
#include <algorithm>

#include "runtime/job/assembly_internal.hpp"
#include "runtime/job/blame_internal.hpp"

namespace multitree::runtime {

void Assembly::ask_where(Guest& guest, const Frame& frame) {
  guest.asks_who_is_stuck = true;
  guest.call = unpack_whereabouts(frame.payload);
  if (blame_by_) return;
  for (Guest& other : guests_) {
    if (&other != &guest) other.call.reset();  // of an answer that came too late
  }
  blame_by_ = Clock::now() + kWherePatience;
  for (Guest& other : guests_) {
    if (&other == &guest || !other.origin || other.leaving || other.blob) continue;
    other.channel.send(FrameType::Where, {});
  }
}

void Assembly::hear_where(Guest& guest, const Frame& frame) const {
  if (blame_by_) guest.call = unpack_whereabouts(frame.payload);
}

/// Answers once everybody has said where it is, or will not.
void Assembly::try_blame() {
  if (!blame_by_) return;
  std::vector<Sighting> ranks(members().size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const State state = state_of(members()[r]);
    if (state == State::Empty) ranks[r].gone = "not joined";
    if (state == State::Left) ranks[r].gone = "left the job";
    if (state == State::Dead) ranks[r].gone = "died";
  }
  bool all = true;
  for (const Guest& guest : guests_) {
    if (!guest.origin || guest.leaving || !is_member(*guest.origin)) continue;
    Sighting& one = ranks[index(seat_of(*guest.origin))];
    one.call = guest.call;
    one.at_barrier = !guest.call && (guest.blob || guest.asks_who_is_stuck);
    all = all && (one.call || one.at_barrier);
  }
  if (!all && Clock::now() < *blame_by_) return;
  blame_by_.reset();
  const auto [words, crossed] = find_blame(ranks);
  // First those who wait elsewhere: who asked may end what these wait for.
  for (Guest& guest : guests_) {
    guest.call.reset();
    if (crossed.empty() || !guest.origin || !is_member(*guest.origin)) continue;
    if (crossed[index(seat_of(*guest.origin))]) guest.channel.send(FrameType::Crossed, words);
  }
  for (Guest& guest : guests_) {
    if (std::exchange(guest.asks_who_is_stuck, false)) guest.channel.send(FrameType::Stuck, words);
  }
  if (crossed.empty()) return;
  const auto first = std::ranges::find(crossed, true) - crossed.begin();
  broadcast_failure(words, nullptr, Seat{static_cast<std::uint32_t>(first)});
}

}  // namespace multitree::runtime
