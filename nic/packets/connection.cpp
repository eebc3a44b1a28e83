// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What both kinds of flows do.
#include "nic/packets/connection_internal.hpp"

#include <algorithm>
#include <cmath>

namespace multitree::packets {
namespace {

constexpr std::uint32_t kControlBytes = 64;
/// How fast DCTCP's average follows.
constexpr double kGain = 1.0 / 16;

std::uint32_t packets_of(const Flow& flow, const Parameters& parameters) {
  return static_cast<std::uint32_t>((flow.bytes + parameters.packet_bytes - 1) /
                                    parameters.packet_bytes);
}

std::uint32_t enough_of(const Flow& flow, std::uint32_t packets) {
  if (flow.sender == Sender::Dctcp) return packets;
  return packets - static_cast<std::uint32_t>(std::floor(flow.budget * packets));
}

}  // namespace

void Window::on_answer(std::uint32_t sending, std::uint32_t next, bool marked) {
  ++seen_;
  marks_ += marked ? 1 : 0;
  if (sending >= window_end_) {
    congestion_ += kGain * (static_cast<double>(marks_) / seen_ - congestion_);
    seen_ = marks_ = 0;
    window_end_ = next;
  }
  if (!marked) {
    size_ = std::min(most_, size_ + (size_ < threshold_ ? 1 : 1 / size_));
  } else if (sending >= cut_end_) {
    size_ = threshold_ = std::max(1.0, size_ * (1 - congestion_ / 2));
    cut_end_ = next;
  }
}

void Window::halve() { size_ = threshold_ = std::max(1.0, size_ / 2); }

void Window::restart() {
  threshold_ = std::max(2.0, size_ / 2);
  size_ = 1;
}

Connection::Connection(const Flow& flow, std::uint32_t number, const Surroundings& around,
                       FlowResult& result)
    : flow_(flow),
      number_(number),
      around_(around),
      result_(result),
      packets_(packets_of(flow, around.parameters)),
      src_(around.topology.node_of(flow.src)),
      dst_(around.topology.node_of(flow.dst)),
      window_(around.parameters),
      states_(packets_, State::New),
      here_(packets_, false),
      enough_(enough_of(flow, packets_)) {
  result_.packets = packets_;
}

bool Connection::is_droppable(std::uint32_t number) const {
  // What is sent again is not dropped at the threshold a second time.
  if (states_[number] == State::Lost) return false;
  return static_cast<double>(around_.fabric.choice(number_, number, ~0ULL) >> 11U) * 0x1p-53 <
         flow_.droppable;
}

void Connection::set_state(std::uint32_t number, State state) {
  if (states_[number] == State::Flying) --flying_;
  if (state == State::Flying) ++flying_;
  states_[number] = state;
}

void Connection::send_data(std::uint32_t number) {
  const std::uint64_t before = std::uint64_t{number} * around_.parameters.packet_bytes;
  const auto bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(around_.parameters.packet_bytes, flow_.bytes - before));
  const bool droppable = is_droppable(number);
  set_state(number, State::Flying);
  ++result_.sent;
  around_.fabric.send({.flow = number_,
                       .number = number,
                       .sending = sent(),
                       .bytes = std::max(bytes, kControlBytes),
                       .src = src_,
                       .dst = dst_,
                       .kind = Kind::Data,
                       .priority = static_cast<std::uint8_t>(flow_.priority),
                       .droppable = droppable});
  sendings_.push_back(number);
}

void Connection::send_control(Kind kind, bool forward, const Packet& about) {
  Packet packet = about;
  packet.flow = number_;
  packet.bytes = kControlBytes;
  packet.src = forward ? src_ : dst_;
  packet.dst = forward ? dst_ : src_;
  packet.kind = kind;
  packet.priority = static_cast<std::uint8_t>(flow_.priority);
  around_.fabric.send(packet);
}

void Connection::pump() {
  while (!stopped_ && window_.admits(flying_)) {
    if (!again_.empty()) {
      const std::uint32_t number = again_.front();
      again_.pop_front();
      if (states_[number] == State::Lost) send_data(number);
    } else if (next_ < packets_) {
      send_data(next_++);
    } else {
      break;
    }
  }
  if (!stopped_) on_pumped(again_.empty() && next_ == packets_);
}

void Connection::start() { pump(); }

bool Connection::arrived(const Packet& packet) {
  switch (packet.kind) {
    case Kind::Data:
      return on_data(packet);
    case Kind::Answer:
      if (!stopped_) on_answer(packet);
      return false;
    case Kind::Question:
      told_ = here_;
      if (have_ < enough_) send_control(Kind::Missing, false, packet);
      return false;
    case Kind::Missing:
      if (!stopped_) on_missing();
      return false;
    case Kind::Enough:
      stopped_ = true;
      return false;
  }
  return false;
}

bool Connection::on_data(const Packet& packet) {
  ++result_.arrived;
  const bool open = have_ < enough_;
  if (!here_[packet.number]) {
    here_[packet.number] = true;
    ++have_;
  }
  send_control(Kind::Answer, false, packet);
  if (!open || have_ < enough_) return false;
  result_.lost = packets_ - have_;
  send_control(Kind::Enough, false, packet);
  return true;
}

std::unique_ptr<Connection> make_connection(const Flow& flow, std::uint32_t number,
                                            const Surroundings& around, FlowResult& result) {
  return flow.sender == Sender::Dctcp ? make_dctcp(flow, number, around, result)
                                      : make_bounded_loss(flow, number, around, result);
}

}  // namespace multitree::packets
