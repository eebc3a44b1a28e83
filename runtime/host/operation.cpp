// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Order and waiting of a collective through shared memory.
#include "runtime/host/operation_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Vectors up to this go on the cards: below it the work that all ranks do alike costs less than a
/// second wait for everybody. Measured; waiting takes longer with more ranks than processors.
constexpr std::uint64_t kCardWork = 48 * 1024;
/// Inputs that are under way at a time, of all ranks: what caches hold.
constexpr std::uint64_t kAreasOfAll = std::uint64_t{2} << 20;
/// Outputs of all ranks that together exceed this go past the caches.
constexpr std::uint64_t kCachedBytes = std::uint64_t{48} << 20;
/// Polls without success between two looks whether the rank that is missing works.
constexpr std::uint32_t kPollsPerBeat = 256;

std::uint64_t card_limit(std::uint32_t ranks) {
  return std::min<std::uint64_t>(kCardBytes, kCardWork / ranks);
}

std::uint64_t piece_bytes(std::uint32_t ranks) {
  return std::clamp<std::uint64_t>(kAreasOfAll / ranks, 64 * 1024, kAreaBytes);
}

}  // namespace

Range Pieces::piece(std::uint64_t i) const {
  return {i * each, std::min((i + 1) * each, elements)};
}

HostOperation::HostOperation(Group& group, const Call& call, std::uint32_t root, Recorder* recorder)
    : group_(group),
      call_(call),
      send_(bytes_of(call.send)),
      recv_(bytes_of(call.recv)),
      root_(root),
      shards_sent_(shards_sent(call.collective, group.size())),
      shards_received_(shards_received(call.collective, group.size())),
      ticket_(group.take_ticket()),
      width_(size_of(call.type)),
      recorder_(recorder) {
  const std::uint64_t bytes = elements_of(call, group.size()) * width_;
  if (bytes <= card_limit(group.size())) mode_ = Mode::Card;
  past_caches_ = bytes * group.size() > kCachedBytes;
  pieces_.elements = call.count;
  const std::uint64_t line = 64 / width_;
  const std::uint64_t room = piece_bytes(group.size()) / width_ / shards_sent_;
  pieces_.each = room >= line ? room / line * line : std::max<std::uint64_t>(room, 1);
  // A first publication brings the offers, so there is a part after it even if there is no piece.
  parts_ = mode_ == Mode::Card ? 2 : pieces_.count() + (reduces_slices() ? 2 : 1);
}

std::uint64_t HostOperation::sent_bytes() const { return call_.count * width_ * shards_sent_; }

std::uint64_t HostOperation::received_bytes() const {
  return call_.count * width_ * shards_received_;
}

bool HostOperation::advance() {
  if (state_ == State::Done || !group_.is_next(ticket_)) return false;
  if (state_ == State::Queued) {
    begin();
    return true;
  }
  if (group_.missing() != group_.size()) return worked_elsewhere();
  if (recorder_ != nullptr) note_wait();
  if (part_ == 0) read_offers();
  ++part_;
  work();
  if (part_ + 1 == parts_) {
    finish();
  } else {
    publish();
  }
  return true;
}

void HostOperation::publish() {
  group_.publish();
  if (recorder_ != nullptr) published_at_ = Recorder::now();
}

/// Everybody has published what this rank waited for.
void HostOperation::note_wait() {
  if (!recorder_->keeps_events()) return;
  recorder_->add({Event::Kind::Wait, 0, static_cast<std::uint32_t>(part_), Event::kNoPeer, 0,
                  published_at_, Recorder::now()});
}

/// Whether the rank that keeps us waiting works: that is progress, though not ours.
bool HostOperation::worked_elsewhere() {
  if (++polls_ % kPollsPerBeat != 0) return false;
  const std::uint64_t beat =
      group_.desk(group_.missing() % group_.size()).beat.load(std::memory_order_relaxed);
  const bool changed = beat != last_beat_;
  last_beat_ = beat;
  return changed;
}

void HostOperation::begin() {
  state_ = State::Running;
  write_offer();
  if (mode_ == Mode::Areas && sends(me()) && !group_.find(send_, sent_bytes()).shared()) {
    copy_in(0);
  }
  publish();
}

void HostOperation::write_offer() {
  Card& card = group_.next_card();
  card.offer = {};
  card.offer.call = common_call(call_, root_);
  if (mode_ == Mode::Card) {
    if (sends(me()) && call_.count != 0) {
      const PhaseRecording phase(recorder_, Event::Kind::CopyIn, 0, sent_bytes());
      std::memcpy(card.vector(sent_bytes()), call_.send, sent_bytes());
    }
    return;
  }
  if (sends(me())) {
    const Place place = group_.find(call_.send, sent_bytes());
    card.offer.send_allocation = place.allocation;
    card.offer.send_offset = place.offset;
  }
  if (receives(me())) {
    const Place place = group_.find(call_.recv, received_bytes());
    card.offer.recv_allocation = place.allocation;
    card.offer.recv_offset = place.offset;
  }
}

void HostOperation::check_offers() const {
  const std::uint64_t parity = group_.published() % 2;
  const CommonCall mine = common_call(call_, root_);
  for (std::uint32_t r = 0; r < group_.size(); ++r) {
    const CommonCall& other = group_.desk(r).cards[parity].offer.call;
    if (other == mine) continue;
    throw Error(ErrorCode::InvalidArgument, words_of_difference(me(), {mine}, r, {other}));
  }
}

/// What all ranks know of each other after the first publication; they decide alike.
void HostOperation::read_offers() {
  check_offers();
  if (mode_ == Mode::Card) return;
  const std::uint64_t parity = group_.published() % 2;
  sends_.assign(group_.size(), nullptr);
  recvs_.assign(group_.size(), nullptr);
  // Results that lie in one rank's shard or are pulled by their receiver need no shared output.
  const bool pushes = reduces_slices();
  bool all = true;
  for (std::uint32_t r = 0; r < group_.size(); ++r) {
    const Offer& offer = group_.desk(r).cards[parity].offer;
    if (offer.send_allocation != kNoAllocation) {
      sends_[r] = group_.at(r, offer.send_allocation, offer.send_offset, sent_bytes());
    } else {
      all &= !sends(r);
    }
    if (!pushes) continue;
    if (offer.recv_allocation != kNoAllocation) {
      recvs_[r] = group_.at(r, offer.recv_allocation, offer.recv_offset, received_bytes());
    } else {
      all &= !receives(r);
    }
    closing_ |= recvs_[r] != nullptr;
  }
  for (const std::byte* send : sends_) closing_ |= send != nullptr;
  if (all) {
    mode_ = Mode::Shared;
    pieces_.each = pieces_.elements;
    parts_ = 2;
  }
  if (closing_) ++parts_;
}

void HostOperation::work() {
  if (closing_ && part_ + 1 == parts_) return;  // nothing to do: all are known to be done
  if (mode_ == Mode::Card) return read_cards();
  if (mode_ == Mode::Shared) return take(0);
  const std::uint64_t pieces = pieces_.count();
  if (part_ >= 2 && part_ - 2 < pieces) copy_out(part_ - 2);
  if (part_ - 1 < pieces) take(part_ - 1);
  if (part_ < pieces && sends(me()) && sends_[me()] == nullptr) copy_in(part_);
}

void HostOperation::finish() {
  state_ = State::Done;
  group_.finish_ticket();
}

std::string HostOperation::waiting_for() const {
  if (state_ == State::Queued) return "waiting for an earlier collective";
  std::string ranks;
  const std::uint64_t published = group_.published();
  for (std::uint32_t r = 0; r < group_.size(); ++r) {
    if (group_.desk(r).cards[published % 2].stamp.load(std::memory_order_acquire) < published) {
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
    }
  }
  if (ranks.empty()) return fmt::format("working in shared memory on part {} of {}", part_, parts_);
  return fmt::format("waiting in shared memory for rank {} at part {} of {}", ranks, part_, parts_);
}

}  // namespace multitree::runtime::host
