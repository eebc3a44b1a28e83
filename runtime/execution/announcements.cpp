// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ranks tell each other of their calls.
#include "runtime/execution/announcements_internal.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace multitree::runtime {

Announcements::Announcements(Transport& transport, Seat self, const std::vector<Seat>& peers)
    : transport_(transport), self_(self) {
  static_assert(std::is_trivially_copyable_v<Message>);
  for (const Seat peer : peers) {
    Peer& one = peers_.emplace_back();
    one.seat = peer;
    one.received.id = static_cast<std::uint32_t>(peers_.size() - 1);
    one.received.finished = &arrived_;
    receive_from(one);
  }
}

void Announcements::receive_from(Peer& peer) {
  transport_.receive(peer.seat, kAnnouncementTag, &peer.incoming, sizeof peer.incoming,
                     peer.received);
}

const SharedCall* Announcements::find(std::uint64_t sequence) const {
  const auto behind = std::ranges::upper_bound(calls_, sequence, {}, &Run::first);
  if (behind == calls_.begin()) return nullptr;
  const Run& there = *std::prev(behind);
  return sequence <= there.last ? &there.call : nullptr;
}

void Announcements::extend(std::deque<Run>& runs, const NumberedCall& called, std::size_t most) {
  if (!runs.empty() && runs.back().last + 1 == called.sequence && runs.back().call == called.call) {
    runs.back().last = called.sequence;
    return;
  }
  if (runs.size() == most) runs.pop_front();
  runs.push_back({called.sequence, called.sequence, called.call});
}

void Announcements::note(const NumberedCall& called, bool waits) {
  if (peers_.empty()) return;
  extend(calls_, called, kRemembered);
  if (!waits) extend(unawaited_, called, kTold);
  for (const Peer& peer : peers_) doubtful_ |= !peer.ahead.empty();
}

/// Compares, or keeps it until this rank has come so far.
void Announcements::hear(Peer& peer, const Run& its) {
  for (auto mine = calls_.rbegin(); mine != calls_.rend() && mine->last >= its.first; ++mine) {
    const std::uint64_t first = std::max(mine->first, its.first);
    if (first > its.last || mine->call == its.call || difference_) continue;
    difference_ = {first, words_of_difference(self_, mine->call, peer.seat, its.call)};
  }
  const std::uint64_t next = calls_.empty() ? 0 : calls_.back().last + 1;
  if (its.last < next) return;
  if (peer.ahead.size() == kKept) peer.ahead.pop_front();
  peer.ahead.push_back({std::max(its.first, next), its.last, its.call});
}

std::optional<std::pair<std::uint64_t, std::string>> Announcements::find_difference() {
  if (std::exchange(doubtful_, false)) {
    for (Peer& peer : peers_) {
      const std::deque<Run> ahead = std::exchange(peer.ahead, {});
      for (const Run& its : ahead) hear(peer, its);
    }
  }
  const std::vector<Completion*> arrived = std::exchange(arrived_, {});
  for (const Completion* completion : arrived) {
    // Of a connection that has failed, those hear who await something else of it.
    if (completion->state != Completion::State::Done) continue;
    ++come_;
    Peer& peer = peers_[completion->id];
    const Message message = peer.incoming;
    receive_from(peer);
    for (std::size_t i = 0; i < std::min<std::uint64_t>(message.count, kTold); ++i) {
      hear(peer, message.calls[i]);
    }
  }
  return difference_;
}

void Announcements::tell(const Message& message) {
  while (!outgoing_.empty() && std::ranges::all_of(outgoing_.front().sent, [](const auto& sent) {
    return sent.state != Completion::State::Pending;
  })) {
    outgoing_.pop_front();
  }
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.message = message;
  for (const Peer& peer : peers_) {
    transport_.send(peer.seat, kAnnouncementTag, &outgoing.message, sizeof outgoing.message,
                    outgoing.sent.emplace_back());
    ++told_[peer.seat];
  }
}

void Announcements::announce(std::uint64_t sequence) {
  const SharedCall* const mine = find(sequence);
  if (mine == nullptr || last_announced_ == sequence) return;
  last_announced_ = sequence;
  Message message;
  message.count = 1;
  message.calls[0] = {sequence, sequence, *mine};
  tell(message);
}

void Announcements::announce_unawaited() {
  if (unawaited_.empty()) return;
  Message message;
  message.count = unawaited_.size();
  std::ranges::copy(unawaited_, message.calls);
  unawaited_.clear();
  tell(message);
}

std::string Announcements::take_told() {
  std::string text;
  for (const auto& [to, messages] : told_) {
    const Told told{to, messages};
    text.append(reinterpret_cast<const char*>(&told), sizeof told);
  }
  told_.clear();
  return text;
}

std::uint64_t Announcements::count_told(const Gathered& told) const {
  std::uint64_t count = 0;
  for (const Peer& peer : peers_) {
    const std::string& text = told[index(peer.seat)];
    for (std::size_t at = 0; at + sizeof(Told) <= text.size(); at += sizeof(Told)) {
      Told one;
      std::memcpy(&one, text.data() + at, sizeof one);
      if (one.to == self_) count += one.messages;
    }
  }
  return count;
}

bool Announcements::have_come(std::uint64_t messages) {
  if (come_ < messages) return false;
  come_ -= messages;
  return true;
}

}  // namespace multitree::runtime
