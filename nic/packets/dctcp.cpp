// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A sender as TCP's, with selective answers: what three later packets have overtaken is sent
/// again at once; if that is lost as well, or the end of what was sent, only a time-out tells.
#include <algorithm>

#include "nic/packets/connection_internal.hpp"

namespace multitree::packets {
namespace {

constexpr std::uint32_t kOvertaken = 3;
constexpr std::uint32_t kMostDoublings = 6;

class Dctcp final : public Connection {
 public:
  using Connection::Connection;

  void on_timer() override {
    armed_ = false;
    if (stopped_ || flying_ == 0) return;
    if (around_.clock.now() < due_) {
      arm();
      return;
    }
    ++result_.time_outs;
    doublings_ = std::min(doublings_ + 1, kMostDoublings);
    window_.restart();
    again_.clear();
    for (std::uint32_t number = 0; number < next_; ++number) {
      if (states_[number] == State::Here) continue;
      set_state(number, State::Lost);
      again_.push_back(number);
    }
    checked_ = recovered_ = next_;
    progress();
    pump();
  }

 private:
  void on_answer(const Packet& packet) override {
    if (states_[packet.number] != State::Here) {
      set_state(packet.number, State::Here);
      doublings_ = 0;
      progress();
    }
    window_.on_answer(packet.sending, sent(), packet.marked);
    for (; checked_ + kOvertaken <= packet.number; ++checked_) {
      if (states_[checked_] != State::Flying) continue;
      set_state(checked_, State::Lost);
      again_.push_back(checked_);
      if (checked_ >= recovered_) {
        recovered_ = next_;
        window_.halve();
      }
    }
    pump();
  }

  void on_pumped(bool /*dry*/) override {
    if (flying_ > 0) arm();
  }

  void progress() {
    due_ = around_.clock.now() + (around_.parameters.time_out.picoseconds << doublings_);
    arm();
  }

  void arm() {
    if (armed_) return;
    if (due_ == 0) due_ = around_.clock.now() + around_.parameters.time_out.picoseconds;
    armed_ = true;
    around_.clock.at(due_, Event::Kind::Timer, number_);
  }

  std::int64_t due_ = 0;
  bool armed_ = false;
  std::uint32_t doublings_ = 0;
  std::uint32_t checked_ = 0;    // packets before it are here, lost, or sent again
  std::uint32_t recovered_ = 0;  // losses before it belong to one that was reacted to
};

}  // namespace

std::unique_ptr<Connection> make_dctcp(const Flow& flow, std::uint32_t number,
                                       const Surroundings& around, FlowResult& result) {
  return std::make_unique<Dctcp>(flow, number, around, result);
}

}  // namespace multitree::packets
