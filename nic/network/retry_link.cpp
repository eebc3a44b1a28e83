// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Both ends of a link and its wires.
#include "nic/network/retry_link.hpp"

#include <bit>

namespace multitree::nic {

RetryLink::RetryLink(const Shape& shape, const LinkErrors& errors)
    : shape_(shape),
      errors_(errors),
      forth_(shape.latency),
      back_(shape.latency),
      kept_(shape.replay),
      seen_(shape.channels, 0),
      given_(shape.channels, 0),
      count_(shape.channels, 0) {}

RetryLink::Out RetryLink::step(std::uint64_t cycle) {
  Frame& frame_place = forth_[cycle % shape_.latency];
  Answer& answer_place = back_[cycle % shape_.latency];
  const Frame frame = frame_place;
  const Answer answer = answer_place;
  flying_ -= (frame.is_there ? 1 : 0) + (answer.is_there ? 1 : 0);
  frame_place = {};
  answer_place = {};
  Out out;
  out.arrived = receive(frame, answer_place);
  transmit(answer, frame_place, out);
  coming_ = kNone;
  giving_ = 0;
  if (frame_place.is_there) pass(frame_place, LinkWay::Forth, cycle);
  if (answer_place.is_there) pass(answer_place, LinkWay::Back, cycle);
  flying_ += (frame_place.is_there ? 1 : 0) + (answer_place.is_there ? 1 : 0);
  return out;
}

/// The receiving end. \returns the channel of the flit that it hands on.
std::uint32_t RetryLink::receive(const Frame& frame, Answer& answer) {
  std::uint32_t arrived = kNone;
  const bool is_good = frame.is_there && frame.is_good;
  if (is_good && (frame.round != round_there_ || !nack_)) {
    const bool follows = frame.number == next_;
    if (follows && !frame.is_empty) {
      arrived = frame.channel;
      ++next_;
    }
    round_there_ = frame.round;
    nack_ = !follows;
  } else if (frame.is_there && !is_good) {
    nack_ = true;
  }
  if (!frame.is_there && giving_ == 0) return arrived;
  for (std::uint32_t c = 0; c < shape_.channels; ++c) count_[c] += giving_ >> c & 1;
  std::uint32_t channel = static_cast<std::uint32_t>(std::countr_zero(giving_));
  if (giving_ == 0) {
    channel = told_;
    told_ = told_ + 1 == shape_.channels ? 0 : told_ + 1;
  }
  answer = {.is_there = true,
            .nack = nack_,
            .round = round_there_,
            .channel = static_cast<std::uint8_t>(channel),
            .ack = next_,
            .count = count_[channel]};
  return arrived;
}

/// The sending end.
void RetryLink::transmit(const Answer& answer, Frame& frame, Out& out) {
  const bool is_good = answer.is_there && answer.is_good;
  const bool rewinds = is_good && answer.nack && answer.round == round_;
  const bool has_news = is_good && (answer.ack != ack_ || answer.ack == head_);
  time_ = is_dead() ? time_ : out_ == 0 || has_news ? 0 : time_ + 1;
  ready_ = head_ - ack_ <= shape_.replay - 3;
  const bool comes = coming_ != kNone;
  const std::uint32_t number = send_;
  const bool again = !rewinds && send_ != head_, pass = !rewinds && send_ == head_ && comes;
  if (comes) {
    kept_[head_ % shape_.replay] = static_cast<std::uint8_t>(coming_);
    ++counts_.flits;
  }
  if (again || pass) {
    frame = {.is_there = true,
             .round = round_,
             .channel = kept_[number % shape_.replay],
             .number = number};
    if (number < furthest_) ++counts_.resent;
    ++send_;
    furthest_ = number < furthest_ ? furthest_ : send_;
  } else if (!rewinds && out_ != 0) {
    frame = {.is_there = true, .is_empty = true, .round = round_, .number = number};
  }
  if (rewinds) {
    send_ = answer.ack;
    round_ = !round_;
  }
  head_ += comes ? 1 : 0;
  if (is_good) {
    ack_ = answer.ack;
    seen_[answer.channel] = answer.count;
  }
  out.credited = next_owed();
  out_ += (comes ? 1 : 0) - (out.credited != kNone ? 1 : 0);
}

/// Hands on one credit of those that have come: channels take turns, as in mt_rr_arb.
std::uint32_t RetryLink::next_owed() {
  for (std::uint32_t i = 0; i < shape_.channels; ++i) {
    const std::uint32_t channel = (turn_ + i) % shape_.channels;
    if (seen_[channel] == given_[channel]) continue;
    ++given_[channel];
    turn_ = channel + 1;
    return channel;
  }
  return kNone;
}

template <typename T>
void RetryLink::pass(T& sent, LinkWay way, std::uint64_t cycle) {
  const bool forth = way == LinkWay::Forth;
  std::uint64_t& all = forth ? counts_.frames : counts_.answers;
  std::uint64_t& bad = forth ? counts_.bad : counts_.bad_answers;
  const LinkFate::Kind drawn = fate_of(errors_, shape_.number, way, all).kind;
  const LinkFault fault = forth                    ? faults_.next(cycle)
                          : faults_.is_dead(cycle) ? LinkFault::Dead
                                                   : LinkFault::None;
  ++all;
  const bool lost =
      drawn == LinkFate::Kind::Lost || fault == LinkFault::Drop || fault == LinkFault::Dead;
  sent.is_there = !lost;
  sent.is_good = drawn != LinkFate::Kind::Corrupt && fault != LinkFault::Corrupt;
  bad += lost || !sent.is_good ? 1 : 0;
}

}  // namespace multitree::nic
