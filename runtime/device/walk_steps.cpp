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

}  // namespace

bool fits_walk(const Program& program, std::uint64_t bytes) {
  return std::ranges::all_of(program.pieces,
                             [&](const Program::Piece& piece) { return piece.bytes <= bytes; });
}

WalkSteps walk_steps(const Program& program, bool fresh, Extent result) {
  check_groups(*program.plan);
  const std::size_t lanes = program.plan->peers.size();
  WalkSteps walk{{}, std::vector<std::uint32_t>(lanes), std::vector<std::uint32_t>(lanes)};
  std::vector<bool> untouched(program.pieces.size(), fresh);
  walk.steps.reserve(program.tasks.size());
  for (const Task& task : program.tasks) {
    const Action action = program.plan->transfers[task.transfer].action;
    std::uint32_t& count = (action == Action::Send ? walk.sent : walk.received)[task.lane];
    walk.steps.push_back({task.begin, task.bytes, task.lane, count++, action_of(action),
                          untouched[task.slot] ? 1U : 0U});
    if (action != Action::Send) untouched[task.slot] = false;
  }
  for (std::size_t s = 0; s < program.pieces.size(); ++s) {
    const Program::Piece& piece = program.pieces[s];
    if (!untouched[s] || piece.begin < result.begin || piece.begin >= result.end) continue;
    walk.steps.push_back({piece.begin, piece.bytes, 0, 0, WalkAction::Keep, 1});
  }
  return walk;
}

}  // namespace multitree::runtime::device
