// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank's program as the list that a kernel walks.
#include "runtime/device/walk_steps_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "topologies/error.hpp"

namespace multitree::runtime::device {
namespace {

WalkAction action_of(Action action) {
  switch (action) {
    case Action::Send:
      return WalkAction::Send;
    case Action::Reduce:
      return WalkAction::Reduce;
    case Action::Copy:
      break;
  }
  return WalkAction::Copy;
}

/// The protocol needs one order of a lane's messages at both ends, and a place for what a group
/// sends to a peer.
void check_groups(const Plan& plan) {
  std::vector<std::tuple<std::uint32_t, std::uint32_t, bool, Seat>> messages;
  for (const LocalTransfer& t : plan.transfers) {
    messages.emplace_back(t.step, t.chunk, t.action == Action::Send, t.peer);
  }
  std::sort(messages.begin(), messages.end());
  const auto twice = std::adjacent_find(messages.begin(), messages.end());
  if (twice == messages.end()) return;
  const auto& [step, chunk, sent, peer] = *twice;
  throw Error(ErrorCode::Unsupported,
              fmt::format("step {} of the schedule has chunk {} {} rank {} more than once", step,
                          chunk, sent ? "sent to" : "received from", peer));
}

/// Where pieces lie while the list is made.
class Spots {
 public:
  Spots(const Program& program, const WalkShape& shape, std::uint32_t blocks)
      : program_(program),
        shape_(shape),
        written_(program.pieces.size()),
        slot_(program.pieces.size(), kNone),
        left_(program.pieces.size()) {
    std::uint64_t longest = 0;
    for (const Program::Piece& piece : program.pieces) longest = std::max(longest, piece.bytes);
    slot_bytes_ = walk_slice_bytes(longest, blocks);
    for (const Task& task : program.tasks) ++left_[task.slot];
  }

  [[nodiscard]] bool written(std::uint32_t piece) const { return written_[piece]; }
  [[nodiscard]] bool in_result(std::uint32_t piece) const {
    const std::uint64_t begin = program_.pieces[piece].begin;
    return begin >= shape_.result.begin && begin < shape_.result.end;
  }
  /// Where it is read.
  [[nodiscard]] WalkSpot now(std::uint32_t piece) const {
    if (written_[piece]) return home(piece);
    return {program_.pieces[piece].begin - shape_.input, WalkMemory::Input};
  }
  /// Where it is written, and lies from then on.
  WalkSpot write(std::uint32_t piece) {
    if (!written_[piece] && !in_result(piece)) take(piece);
    written_[piece] = true;
    return home(piece);
  }
  /// One of its tasks is over.
  void used(std::uint32_t piece) {
    if (--left_[piece] == 0 && slot_[piece] != kNone) free_.push_back(slot_[piece]);
  }
  [[nodiscard]] std::uint64_t bytes() const { return slots_ * slot_bytes_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  [[nodiscard]] WalkSpot home(std::uint32_t piece) const {
    const std::uint64_t begin = program_.pieces[piece].begin;
    if (in_result(piece)) return {begin - shape_.result.begin, WalkMemory::Output};
    return {slot_[piece] * slot_bytes_ + begin % kWalkVector, WalkMemory::Work};
  }
  void take(std::uint32_t piece) {
    if (free_.empty()) free_.push_back(slots_++);
    slot_[piece] = free_.back();
    free_.pop_back();
  }

  const Program& program_;
  const WalkShape& shape_;
  std::vector<bool> written_;
  std::vector<std::uint32_t> slot_, left_, free_;  ///< left_: tasks to come
  std::uint64_t slot_bytes_ = 0;
  std::uint32_t slots_ = 0;
};

/// What no message does.
void add_result(WalkSteps& walk, const Program& program, const WalkShape& shape, Spots& spots) {
  for (std::uint32_t p = 0; p < program.pieces.size(); ++p) {
    const Program::Piece& piece = program.pieces[p];
    if (!spots.in_result(p)) continue;
    WalkStep step;
    step.bytes = piece.bytes;
    step.skew = static_cast<std::uint32_t>(piece.begin % kWalkVector);
    if (!spots.written(p)) {
      step.action = WalkAction::Keep;
      step.from = spots.now(p);
      step.to = spots.write(p);
      walk.steps.push_back(step);
    }
    if (shape.divisor > 1) {
      step.action = WalkAction::Divide;
      step.to = spots.now(p);
      walk.steps.push_back(step);
    }
  }
}

}  // namespace

bool fits_walk(const Program& program, std::uint64_t bytes) {
  return std::ranges::all_of(program.pieces,
                             [&](const Program::Piece& piece) { return piece.bytes <= bytes; });
}

WalkSteps walk_steps(const Program& program, const WalkShape& shape, std::uint32_t blocks) {
  check_groups(*program.plan);
  const std::size_t lanes = program.plan->peers.size();
  WalkSteps walk;
  walk.sent.resize(lanes);
  walk.received.resize(lanes);
  walk.steps.reserve(program.tasks.size());
  Spots spots(program, shape, blocks);
  for (const Task& task : program.tasks) {
    WalkStep step;
    step.action = action_of(program.plan->transfers[task.transfer].action);
    const bool send = step.action == WalkAction::Send;
    if (step.action != WalkAction::Copy) step.from = spots.now(task.slot);
    if (!send) step.to = spots.write(task.slot);
    step.bytes = task.bytes;
    step.skew = static_cast<std::uint32_t>(task.begin % kWalkVector);
    step.lane = task.lane;
    step.number = (send ? walk.sent : walk.received)[task.lane]++;
    spots.used(task.slot);
    walk.steps.push_back(step);
  }
  add_result(walk, program, shape, spots);
  walk.work_bytes = spots.bytes();
  return walk;
}

}  // namespace multitree::runtime::device
