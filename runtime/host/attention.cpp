// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Looking at other ranks' cards.
#include "runtime/host/attention_internal.hpp"

#include <fmt/format.h>

#include <atomic>

#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Polls without success between two looks whether the rank that is missing works.
constexpr std::uint32_t kPollsPerBeat = 256;

}  // namespace

Whom sources_of(Collective collective, Rank self, Rank root) {
  if (!receives(collective, self, root)) return Whom::Nobody;
  if (facts(collective).start != Holder::Root) return Whom::Everyone;
  return self == root ? Whom::Nobody : Whom::Root;
}

Whom readers_of(Collective collective, Rank self, Rank root) {
  if (!sends(collective, self, root)) return Whom::Nobody;
  if (facts(collective).end != Holder::Root) return Whom::Everyone;
  return self == root ? Whom::Nobody : Whom::Root;
}

std::uint32_t shards_put_in(const CommonCall& call, std::uint32_t ranks) {
  return call.exchange == Exchange::AllToAll ? ranks : shards_sent(call.collective, ranks);
}

bool Attention::sees_work(Seat seat) {
  if (++polls_ % kPollsPerBeat != 0) return false;
  const std::uint64_t beat = group_.pulse(seat).beat.load(std::memory_order_relaxed);
  const bool changed = beat != last_beat_;
  last_beat_ = beat;
  return changed;
}

/// Calls in which nobody waits for others, as two ranks make that both take themselves for the
/// root.
void Attention::check_earlier(Seat seat) const {
  if (seat == group_.self()) return;
  std::size_t before = group_.unchecked().size();
  for (const auto& [number, call] : group_.unchecked()) {
    const std::size_t calls = before--;
    const CommonCall other = group_.card(seat, number).call.read();
    std::atomic_thread_fence(std::memory_order_acquire);
    // Its owner may have begun to write it again.
    if (group_.has_published(seat, number + kCards - 1) || other == call) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{} call{} before it: {}", calls, calls == 1 ? "" : "s",
                            words_of_difference(group_.self(), {call}, seat, {other})));
  }
}

void Attention::check_offers(std::uint64_t number, const CommonCall& mine) const {
  if (whom_ == Whom::Nobody) return group_.leave_unchecked({number, mine});
  for (const Seat seat : Seats(group_.size())) {
    if (!is_on(seat)) continue;
    if (!group_.unchecked().empty()) check_earlier(seat);
    const CommonCall other = group_.card(seat, number).call.read();
    if (other == mine) continue;
    throw Error(ErrorCode::InvalidArgument,
                words_of_difference(group_.self(), {mine}, seat, {other}));
  }
  group_.forget_unchecked();
}

std::vector<Seat> Attention::missing_ranks(std::uint64_t number) const {
  std::vector<Seat> ranks;
  for (const Seat seat : Seats(group_.size())) {
    if (is_on(seat) && !group_.has_published(seat, number)) ranks.push_back(seat);
  }
  return ranks;
}

}  // namespace multitree::runtime::host
