// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small vectors on cards.
#include "runtime/host/card_operation_internal.hpp"

#include <fmt/format.h>

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
      ticket_(group.take_ticket()) {}

/// What this rank puts in.
std::uint64_t CardOperation::sent_bytes() const {
  if (!sends(call_.collective, me(), root_)) return 0;
  return call_.count * size_of(call_.type) * shards_put_in(common_, group_.size());
}

/// Before it begins, that what is where it is going to write has been read by everybody.
std::uint64_t CardOperation::awaited() const {
  if (state_ == State::Published) return group_.published();
  return group_.needed_before_next(sent_bytes());
}

bool CardOperation::advance() {
  if (!group_.is_next(ticket_)) return false;
  if (const auto seat = attention_.missing(awaited())) return attention_.sees_work(*seat);
  state_ == State::Queued ? write() : read();
  return true;
}

void CardOperation::write() {
  const std::uint64_t bytes = sent_bytes();
  group_.card(group_.self(), group_.published() + 1).call = common_;
  if (bytes != 0) {
    const PhaseRecording phase(recorder_, Event::Kind::CopyIn, 0, bytes);
    std::memcpy(group_.next_vector(bytes), call_.send, bytes);
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
  const std::uint64_t bytes = call_.count * size_of(call_.type);
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
  state_ = State::Done;
  group_.finish_ticket();
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
  const std::string ranks = attention_.missing_ranks(awaited());
  if (ranks.empty()) return "working in shared memory on part 0 of 1";
  return fmt::format("waiting in shared memory for rank {} at part 0 of 1", ranks);
}

}  // namespace multitree::runtime::host
