// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A sender as DLCP's and MLT's: order does not matter, and nothing is sent again before all was
/// sent once. Then it asks, and sends what is missing, until the receiver has enough.
#include "nic/packets/connection_internal.hpp"

namespace multitree::packets {
namespace {

/// Packets take different paths: one is taken for gone when so many later ones have come. If it is
/// not, nothing is lost by that.
constexpr std::uint32_t kLaterOnes = 4;

/// Longer than a full port holds an answer up.
std::int64_t quiet_time(const Surroundings& around) {
  constexpr double kLatency = 20e6;
  const double bytes =
      static_cast<double>(around.parameters.queue) * around.parameters.packet_bytes;
  const auto rate = static_cast<double>(around.topology.unit_bandwidth().bytes_per_second);
  return static_cast<std::int64_t>(bytes * 1e12 / rate + kLatency);
}

class BoundedLoss final : public Connection {
 public:
  BoundedLoss(const Flow& flow, std::uint32_t number, const Surroundings& around,
              FlowResult& result)
      : Connection(flow, number, around, result), quiet_(quiet_time(around)) {}

  void on_timer() override {
    armed_ = false;
    if (stopped_) return;
    if (around_.clock.now() < due_) {
      arm();
      return;
    }
    ask();  // all that was under way may be lost
  }

 private:
  void on_answer(const Packet& packet) override {
    due_ = around_.clock.now() + quiet_;
    set_state(packet.number, State::Here);
    window_.on_answer(packet.sending, sent(), packet.marked);
    for (; first_ + kLaterOnes <= packet.sending; ++first_) {
      const std::uint32_t number = sendings_[first_];
      if (states_[number] != State::Flying || flying_as_[number] != first_) continue;
      set_state(number, State::Lost);
      window_.on_answer(first_, sent(), true);
    }
    pump();
  }

  void on_missing() override {
    asked_ = false;
    again_.clear();
    for (std::uint32_t number = 0; number < next_; ++number) {
      if (told_[number]) {
        set_state(number, State::Here);
      } else if (flying_as_[number] < asked_behind_) {
        set_state(number, State::Lost);
        again_.push_back(number);
      }
    }
    pump();
  }

  void on_pumped(bool dry) override {
    flying_as_.resize(packets_);
    for (; noted_ < sent(); ++noted_) flying_as_[sendings_[noted_]] = noted_;
    due_ = around_.clock.now() + quiet_;
    if (dry) ask();
    arm();
  }

  void ask() {
    if (asked_) return;
    asked_ = true;
    asked_behind_ = sent();
    ++result_.questions;
    send_control(Kind::Question, true, {});
  }

  void arm() {
    if (armed_ || asked_) return;
    armed_ = true;
    around_.clock.at(due_, Event::Kind::Timer, number_);
  }

  std::int64_t quiet_, due_ = 0;
  bool armed_ = false, asked_ = false;
  std::uint32_t first_ = 0;  // what was sent before it is here or gone
  std::uint32_t noted_ = 0, asked_behind_ = 0;
  std::vector<std::uint32_t> flying_as_;  // by packet: when it was sent last
};

}  // namespace

std::unique_ptr<Connection> make_bounded_loss(const Flow& flow, std::uint32_t number,
                                              const Surroundings& around, FlowResult& result) {
  return std::make_unique<BoundedLoss>(flow, number, around, result);
}

}  // namespace multitree::packets
