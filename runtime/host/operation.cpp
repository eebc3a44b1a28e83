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

/// Outputs of all ranks that together exceed this go past the caches.
constexpr std::uint64_t kCachedBytes = std::uint64_t{48} << 20;
/// Polls without success between two looks whether the rank that is missing works.
constexpr std::uint32_t kPollsPerBeat = 256;

}  // namespace

Range Pieces::piece(std::uint64_t i) const {
  return {i * each, std::min((i + 1) * each, elements)};
}

HostOperation::HostOperation(Group& group, const Call& call, Rank root, Recorder* recorder,
                             const std::optional<CommonCall>& shown)
    : group_(group),
      call_(call),
      common_(shown ? *shown : common_call(call, root)),
      send_(bytes_of(call.send)),
      recv_(bytes_of(call.recv)),
      root_(root),
      shards_sent_(common_.exchange == Exchange::AllToAll
                       ? group.size()
                       : shards_sent(call.collective, group.size())),
      shards_received_(shards_received(call.collective, group.size())),
      ticket_(group.take_ticket()),
      width_(size_of(call.type)),
      recorder_(recorder) {
  const std::uint64_t bytes = elements_of(call, group.size()) * width_;
  if (bytes <= card_bytes(group.size())) {
    mode_ = Mode::Card;
    reserved_ = 1;
    return;
  }
  past_caches_ = bytes * group.size() > kCachedBytes;
  pieces_.elements = call.count;
  const std::uint64_t line = 64 / width_;
  const std::uint64_t room = piece_bytes(group.size()) / width_ / shards_sent_;
  pieces_.each = room >= line ? room / line * line : std::max<std::uint64_t>(room, 1);
  // Parts have a publication between each two: of pieces that are copied in, reduced and copied
  // out.
  reserved_ = pieces_.count() + 2;
  lends_ = group.lends(bytes);
  if (sends(me())) my_send_ = group.find(send_, sent_bytes(), lends_);
  if (receives(me())) my_recv_ = group.find(recv_, received_bytes(), lends_);
}

std::uint64_t HostOperation::sent_bytes() const { return call_.count * width_ * shards_sent_; }

std::uint64_t HostOperation::received_bytes() const {
  return call_.count * width_ * shards_received_;
}

bool HostOperation::advance() {
  if (state_ == State::Done || !group_.is_next(ticket_)) return false;
  if (const auto seat = missing()) return worked_elsewhere(*seat);
  if (state_ == State::Queued) {
    begin();
  } else if (state_ == State::Running) {
    proceed();
  } else {
    finish();
  }
  return true;
}

/// Whose data this rank takes.
HostOperation::Whom HostOperation::sources() const {
  if (reduces_slices()) return Whom::Everyone;
  if (!receives(me())) return Whom::Nobody;
  if (facts(call_.collective).start != Holder::Root) return Whom::Everyone;
  return is_root(me()) ? Whom::Nobody : Whom::Root;
}

/// Who takes this rank's data.
HostOperation::Whom HostOperation::readers() const {
  if (reduces_slices()) return Whom::Everyone;
  if (!sends(me())) return Whom::Nobody;
  if (facts(call_.collective).end != Holder::Root) return Whom::Everyone;
  return is_root(me()) ? Whom::Nobody : Whom::Root;
}

/// Who reads or writes this rank's buffers themselves.
HostOperation::Whom HostOperation::users() const {
  if (reduces_slices() && my_recv_.is_lent()) return Whom::Everyone;
  return my_send_.is_lent() ? readers() : Whom::Nobody;
}

std::uint64_t HostOperation::awaited_number() const {
  if (state_ == State::Running) return group_.published();
  if (state_ == State::Closing) return end_;
  // Before it begins: what is on the card that it is going to write, and in the areas, has been
  // read by everybody.
  const std::uint64_t next = group_.published() + 1;
  const std::uint64_t card = next > kCards ? next - kCards + 1 : 0;
  return mode_ == Mode::Card ? card : std::max(card, group_.areas_used_until());
}

bool HostOperation::awaits(Seat seat) const {
  return waits_for_ == Whom::Everyone || (waits_for_ == Whom::Root && is_root(seat));
}

/// One that keeps this rank waiting, if any does.
std::optional<Seat> HostOperation::missing() {
  if (waits_for_ == Whom::Everyone) return group_.missing(awaited_number());
  if (waits_for_ == Whom::Nobody) return std::nullopt;
  const Seat root = seat_of(root_);
  return group_.has_published(root, awaited_number()) ? std::nullopt : std::optional(root);
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
bool HostOperation::worked_elsewhere(Seat seat) {
  if (++polls_ % kPollsPerBeat != 0) return false;
  const std::uint64_t beat = group_.beat_of(seat).load(std::memory_order_relaxed);
  const bool changed = beat != last_beat_;
  last_beat_ = beat;
  return changed;
}

void HostOperation::begin() {
  state_ = State::Running;
  waits_for_ = fills_areas() ? std::max(sources(), readers()) : sources();
  end_ = group_.published() + reserved_;
  write_offer();
  if (mode_ != Mode::Card && !lends_) group_.use_areas_until(end_);
  if (fills_areas()) copy_in(0);
  publish();
}

void HostOperation::proceed() {
  if (recorder_ != nullptr) note_wait();
  if (part_ == 0) read_offers();
  ++part_;
  try {
    work();
  } catch (...) {  // a peer's memory is gone; whoever asks again is told again
    --part_;
    throw;
  }
  if (part_ + 1 == parts_) return end_work();
  publish();
}

void HostOperation::end_work() {
  group_.publish_until(end_);
  state_ = State::Closing;
  waits_for_ = users();
  if (waits_for_ == Whom::Nobody) finish();
}

void HostOperation::write_offer() {
  Card& card = group_.card(me(), group_.published() + 1);
  card.offer = {.call = common_,
                .send_offset = my_send_.offset,
                .recv_offset = my_recv_.offset,
                .send_allocation = my_send_.allocation,
                .recv_allocation = my_recv_.allocation};
  if (mode_ != Mode::Card || !sends(me()) || call_.count == 0) return;
  const PhaseRecording phase(recorder_, Event::Kind::CopyIn, 0, sent_bytes());
  if (sent_bytes() > sizeof card.near) card.offer.send_offset = group_.take_slip();
  std::memcpy(group_.vector(me(), group_.published() + 1, sent_bytes()), call_.send, sent_bytes());
}

void HostOperation::check_offers() const {
  if (waits_for_ == Whom::Nobody) return;
  const CommonCall& mine = common_;
  for (const Seat r : all()) {
    if (!awaits(r)) continue;
    const CommonCall& other = group_.card(r, group_.published()).offer.call;
    if (other == mine) continue;
    throw Error(ErrorCode::InvalidArgument, words_of_difference(me(), {mine}, r, {other}));
  }
}

/// What this rank knows of those that it has waited for, and what follows for its own work. Where
/// slices are reduced all ranks know the same, and decide alike.
void HostOperation::read_offers() {
  check_offers();
  parts_ = 2;
  if (mode_ == Mode::Card) return;
  sends_.assign(group_.size(), {});
  recvs_.assign(group_.size(), {});
  for (const Seat r : all()) {
    if (!awaits(r)) continue;
    const Offer& offer = group_.card(r, group_.published()).offer;
    sends_[index(r)] = group_.at(r, {offer.send_allocation, offer.send_offset}, sent_bytes());
    if (!reduces_slices()) continue;
    recvs_[index(r)] = group_.at(r, {offer.recv_allocation, offer.recv_offset}, received_bytes());
  }
  if (reads_all_where_it_is()) {
    mode_ = Mode::Whole;
    pieces_.each = pieces_.elements;
  } else {
    parts_ = pieces_.count() + (reduces_slices() ? 2 : 1);
  }
}

/// Whether nothing that this rank reads or writes, or others read or write of it, is in areas.
bool HostOperation::reads_all_where_it_is() const {
  if (fills_areas()) return false;
  for (const Seat r : all()) {
    const bool taken = reduces_slices() || (receives(me()) && r != me());
    if (taken && sends(r) && !sends_[index(r)].is_lent()) return false;
    if (reduces_slices() && receives(r) && !recvs_[index(r)].is_lent()) return false;
  }
  return true;
}

void HostOperation::work() {
  if (mode_ == Mode::Card) return read_cards();
  if (mode_ == Mode::Whole) return take(0);
  const std::uint64_t pieces = pieces_.count();
  if (part_ >= 2 && part_ - 2 < pieces) copy_out(part_ - 2);
  if (part_ - 1 < pieces) take(part_ - 1);
  if (part_ < pieces && fills_areas()) copy_in(part_);
}

void HostOperation::finish() {
  state_ = State::Done;
  group_.finish_ticket();
}

std::string HostOperation::waiting_for() const {
  if (!group_.is_next(ticket_)) return "waiting for an earlier collective";
  std::string ranks;
  for (const Seat r : all()) {
    if (!awaits(r) || group_.has_published(r, awaited_number())) continue;
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r);
  }
  const std::string part = fmt::format("part {} of {}", part_, reserved_);
  if (ranks.empty()) return "working in shared memory on " + part;
  return fmt::format("waiting in shared memory for rank {} at {}", ranks, part);
}

}  // namespace multitree::runtime::host
