// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Windows, turns, and how long large collectives wait for small ones.
#include "runtime/execution/outbox_internal.hpp"

#include <algorithm>
#include <functional>

namespace multitree::runtime {
namespace {

/// Up to here a collective takes its time by steps rather than by bytes.
constexpr std::uint64_t kLatencyBytes = 256 * 1024;
/// Most messages to a peer that the transport has at a time.
constexpr std::size_t kMostMessages = 64;
/// A small collective that has not moved for so long waits for something else than a link: windows
/// of large ones before it take less.
constexpr std::chrono::milliseconds kStill{20};
/// Longest that small ones one after the other hold back a large one that could send.
constexpr std::chrono::milliseconds kLongestHold{200};

}  // namespace

Urgency urgency_of(std::uint64_t bytes) {
  return bytes <= kLatencyBytes ? Urgency::Latency : Urgency::Bulk;
}

Outbox::Line::Line(Outbox& outbox, Seat peer, Sender& sender, Turn turn)
    : outbox_(outbox),
      lane_(outbox.lanes_[outbox.limits_.one_port ? Seat{} : peer]),
      sender_(sender),
      turn_(turn) {
  auto& lines = lane_.lines;
  const auto behind = [](const Turn& own, const Line* other) { return own < other->turn_; };
  lines.insert(std::upper_bound(lines.begin(), lines.end(), turn, behind), this);
}

Outbox::Line::~Line() {
  std::erase(lane_.lines, this);
  for (const Send& send : in_flight_) {
    lane_.bytes -= send.bytes;
    --lane_.messages;
  }
}

void Outbox::Line::add(std::uint32_t id, std::size_t bytes) {
  waiting_.push_back({id, bytes});
  std::push_heap(waiting_.begin(), waiting_.end(), std::greater<>());
  outbox_.pump(lane_);
}

void Outbox::Line::left(std::uint32_t id) {
  const auto sent = std::ranges::find(in_flight_, id, &Send::id);
  lane_.bytes -= sent->bytes;
  --lane_.messages;
  in_flight_.erase(sent);
  outbox_.pump(lane_);
}

void Outbox::enter(Urgency urgency) {
  if (urgency == Urgency::Bulk || !limits_.buffered) return;
  if (urgent_++ == 0) held_since_ = Clock::now();
  moved(urgency);
}

void Outbox::leave(Urgency urgency) {
  if (urgency == Urgency::Bulk || !limits_.buffered) return;
  if (--urgent_ == 0) resume();
}

void Outbox::moved(Urgency urgency) {
  if (urgency == Urgency::Latency && limits_.buffered) hold_until_ = Clock::now() + kStill;
}

bool Outbox::resume() {
  if (!held_ || holds_back()) return false;
  held_ = false;
  for (auto& [peer, lane] : lanes_) pump(lane);
  held_since_ = Clock::now();
  return true;
}

bool Outbox::holds_back() const {
  return urgent_ != 0 && Clock::now() < std::min(hold_until_, held_since_ + kLongestHold);
}

bool Outbox::has_room(const Lane& lane, const Line::Send& send) const {
  if (lane.messages < limits_.window_messages) return true;
  return lane.messages < kMostMessages && lane.bytes + send.bytes <= limits_.window_bytes;
}

Outbox::Line* Outbox::next_of(Lines turn) {
  Line* next = nullptr;
  for (Line* const line : turn) {
    if (line->waiting_.empty()) continue;
    if (next == nullptr || line->waiting_.front() < next->waiting_.front()) next = line;
  }
  return next;
}

void Outbox::post(Lane& lane, Line& line) {
  const Line::Send next = line.waiting_.front();
  std::pop_heap(line.waiting_.begin(), line.waiting_.end(), std::greater<>());
  line.waiting_.pop_back();
  line.in_flight_.push_back(next);
  lane.bytes += next.bytes;
  ++lane.messages;
  line.sender_.post(next.id);
}

void Outbox::pump(Lane& lane) {
  bool full = false;
  for (std::size_t begin = 0, end = 0; begin < lane.lines.size(); begin = end) {
    const Turn turn = lane.lines[begin]->turn_;
    while (end < lane.lines.size() && lane.lines[end]->turn_ == turn) ++end;
    while (Line* const line = next_of(Lines(lane.lines).subspan(begin, end - begin))) {
      const Line::Send& next = line->waiting_.front();
      full = full || !has_room(lane, next);
      // Its receiver may wait for it before it takes any other.
      const bool first = !limits_.buffered && (line->in_flight_.empty() ||
                                               next < *std::ranges::min_element(line->in_flight_));
      if (full && !first) break;
      if (turn.urgency == Urgency::Bulk && holds_back()) {
        held_ = true;
        return;
      }
      post(lane, *line);
    }
  }
}

}  // namespace multitree::runtime
