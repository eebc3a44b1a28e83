// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small vectors on cards.
#include "runtime/host/card_operation_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "runtime/execution/layout_internal.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime::host {

bool fits_cards(const Group& group, const Call& call) {
  return elements_of(call, group.size()) * size_of(call.type) <= group.card_room();
}

CardOperation::CardOperation(Group& group, const Call& call, const CommonCall& common, Rank root,
                             Recorder* recorder)
    : group_(group),
      call_(call),
      common_(common),
      root_(root),
      attention_(group, root),
      recorder_(recorder),
      shard_(call.count * size_of(call.type)),
      sent_(sends(call.collective, me(), root) ? shard_ * shards_put_in(common, group.size()) : 0),
      ticket_(group.take_ticket()) {}

bool CardOperation::advance() {
  if (!group_.is_next(ticket_)) return false;
  if (const auto seat = attention_.missing(awaited())) {
    waited_ = true;
    return attention_.sees_work(*seat);
  }
  state_ == State::Queued ? write() : read();
  return true;
}

void CardOperation::write() {
  group_.card(group_.self(), group_.published() + 1).call.show(common_);
  if (sent_ != 0) {
    const PhaseRecording phase(recorder_, Event::Kind::CopyIn, 0, sent_);
    std::memcpy(group_.next_vector(sent_), call_.send, sent_);
  }
  group_.publish();
  if (recorder_ != nullptr) published_at_ = Recorder::now();
  state_ = State::Published;
  attention_.turn_to(sources_of(call_.collective, me(), root_));
}

void CardOperation::read() {
  if (recorder_ != nullptr && recorder_->keeps_events()) {
    recorder_->add({Event::Kind::Wait, 0, 0, Event::kNoPeer, 0, published_at_, Recorder::now()});
  }
  attention_.check_offers(group_.published(), common_);
  const std::uint64_t bytes = shard_;
  if (bytes != 0 && receives(call_.collective, me(), root_)) {
    const PhaseRecording phase(recorder_, Event::Kind::Sum, 0,
                               bytes * shards_received(call_.collective, group_.size()));
    std::byte* to = bytes_of(call_.recv);
    if (reduces(call_.collective)) {
      reduce_all(bytes);
    } else if (facts(call_.collective).start == Holder::Root) {
      read_from(seat_of(root_), to, bytes);
    } else {
      for (const Seat seat : Seats(group_.size())) {
        read_from(seat, to, bytes);
        to += bytes;
      }
    }
  }
  if (!waited_) fetch_next();
  state_ = State::Done;
  group_.finish_ticket();
}

/// A root that did not wait finds the next cards written as well, most likely, as the others put
/// something in and go on: they are on their way while the caller looks at this result.
void CardOperation::fetch_next() const {
  if (facts(call_.collective).end != Holder::Root || me() != root_) return;
  for (const Seat seat : Seats(group_.size())) {
    if (seat != group_.self()) group_.fetch_next(seat);
  }
}

/// The share of this rank in what another has written.
void CardOperation::read_from(Seat seat, std::byte* to, std::uint64_t bytes) const {
  const std::uint32_t shards = shards_put_in(common_, group_.size());
  const std::byte* const from = group_.vector(seat, group_.published(), bytes * shards);
  std::memcpy(to, from + (shards > 1 ? index(me()) * bytes : 0), bytes);
}

void CardOperation::reduce_all(std::uint64_t bytes) {
  auto& inputs = group_.scratch().inputs;
  inputs.resize(group_.size());
  const std::uint32_t shards = shards_put_in(common_, group_.size());
  const std::uint64_t at = shards > 1 ? index(me()) * bytes : 0;
  for (const Seat seat : Seats(group_.size())) {
    inputs[index(seat)] = group_.vector(seat, group_.published(), bytes * shards) + at;
  }
  reduce(call_.recv, inputs, call_.count, call_.type, call_.op, call_.function());
  finish_reduction(call_.recv, call_.count, call_.type, call_.op, group_.size());
}

std::string CardOperation::waiting_for() const {
  if (!group_.is_next(ticket_)) return "waiting for an earlier collective";
  const std::vector<Seat> ranks = awaited_ranks();
  if (ranks.empty()) return "working in shared memory on part 0 of 1";
  return fmt::format("waiting in shared memory for rank {} at part 0 of 1", fmt::join(ranks, ", "));
}

std::vector<Seat> CardOperation::awaited_ranks() const {
  if (!group_.is_next(ticket_)) return {};
  return attention_.missing_ranks(awaited());
}

}  // namespace multitree::runtime::host
