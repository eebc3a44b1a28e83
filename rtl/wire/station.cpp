// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/station.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace multitree::rtl {
namespace {

/// Of a turn: who sends without end does not keep the rank from its own work.
constexpr int kFramesOfTurn = 1024;

}  // namespace

void Station::take(std::span<const std::byte> bytes) {
  const auto frame = decode(bytes);
  if (!frame) {
    ++bad_;
    return;
  }
  if (frame->job != job_ || frame->kind != Frame::Kind::Data) return;
  const Way back{frame->way.to, frame->way.from, frame->way.lane};
  const auto cable = std::ranges::find(cables_->all, back, &Cable::way);
  if (cable != cables_->all.end()) cable->receive(*frame, Clock::now());
}

bool Station::turn() {
  bool moves = false;
  for (int taken = 0; taken < kFramesOfTurn; ++taken) {
    const auto frame = port_->receive();
    if (frame.empty()) break;
    take(frame);
    moves = true;
  }
  moves = endpoint_->work() || moves;
  const auto now = Clock::now();
  for (Cable& cable : cables_->all) {
    cable.flush(now, [&](std::span<const std::byte> frame) { port_->send(cable.way(), frame); });
  }
  return moves;
}

std::string Station::silent(Clock::duration most) const {
  const auto now = Clock::now();
  for (const Cable& cable : cables_->all) {
    const std::chrono::duration<double> silence = cable.silence(now);
    if (silence <= most) continue;
    return fmt::format("{} has not answered for {:.1f} s", cable.peer(), silence.count());
  }
  return {};
}

Cable::Counts Station::counts() const {
  Cable::Counts sum;
  for (const Cable& cable : cables_->all) sum += cable.counts();
  return sum;
}

}  // namespace multitree::rtl
