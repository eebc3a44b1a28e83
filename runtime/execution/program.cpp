// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a schedule to the messages of one rank.
#include "runtime/execution/program_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "runtime/kernels/wire.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Receive buffers: enough to hide the latency of a hop, few enough to stay in cache.
constexpr std::uint64_t kScratchBytes = 4U << 20;

std::uint32_t blocks_for(std::uint64_t budget, std::uint64_t bytes, std::uint64_t low,
                         std::uint64_t high) {
  return static_cast<std::uint32_t>(
      std::clamp(budget / std::max<std::uint64_t>(bytes, 1), low, high));
}

void check(const Schedule& schedule, const Transfer& transfer) {
  if (index(transfer.src) < schedule.ranks && index(transfer.dst) < schedule.ranks &&
      transfer.chunk < schedule.chunks.size() && transfer.src != transfer.dst) {
    return;
  }
  throw Error(
      ErrorCode::InvalidArgument,
      fmt::format("schedule of {} ranks and {} chunks has a transfer of chunk {} from rank {} "
                  "to rank {} at step {}",
                  schedule.ranks, schedule.chunks.size(), transfer.chunk, transfer.src,
                  transfer.dst, transfer.step));
}

/// Marks what needs scratch, a run of equal (step, chunk) at a time.
void mark_scratch(Plan& plan, bool rounded) {
  auto& all = plan.transfers;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    const bool sends = all[begin].action == Action::Send;
    std::uint32_t scratch = 0;
    for (end = begin;
         end < all.size() && all[end].step == all[begin].step && all[end].chunk == all[begin].chunk;
         ++end) {
      LocalTransfer& transfer = all[end];
      transfer.scratch = transfer.action == Action::Reduce ||
                         (transfer.action == Action::Copy && (sends || rounded));
      scratch += transfer.scratch ? 1 : 0;
    }
    plan.scratch_floor = std::max(plan.scratch_floor, scratch);
  }
}

/// Segments of every chunk: pieces of at most `limit` elements.
std::vector<std::uint32_t> count_segments(std::span<const ElementRange> ranges,
                                          std::uint64_t limit) {
  std::vector<std::uint32_t> counts;
  counts.reserve(ranges.size());
  for (const ElementRange& range : ranges) {
    counts.push_back(static_cast<std::uint32_t>((range.count + limit - 1) / limit));
  }
  return counts;
}

/// Elements per segment such that transfers * segments fits the 32 bits of a message number.
std::uint64_t segment_elements(const Schedule& schedule, std::span<const ElementRange> ranges,
                               const ProgramShape& shape) {
  std::uint64_t longest = 0;
  for (const ElementRange& range : ranges) longest = std::max(longest, range.count);
  const std::uint64_t transfers = std::max<std::uint64_t>(schedule.transfers.size(), 1);
  const std::uint64_t most = (std::uint64_t{1} << 32) / transfers;
  if (most == 0) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("schedule has {} transfers; at most 2^32 can be told apart", transfers));
  }
  const std::uint64_t wanted =
      std::max<std::uint64_t>(shape.segment_bytes / shape.element_bytes, 1);
  return std::max(wanted, (longest + most - 1) / most);
}

/// The slots of all chunks, chunk by chunk. Returns the first slot of each chunk, and one past the
/// last.
std::vector<std::uint32_t> add_slots(Program& program, std::span<const ElementRange> ranges,
                                     std::span<const std::uint32_t> segments,
                                     std::size_t element_bytes) {
  std::vector<std::uint32_t> first_slot(1, 0);
  for (std::size_t c = 0; c < ranges.size(); ++c) {
    for (std::uint64_t s = 0; s < segments[c]; ++s) {
      // Even pieces: base elements each, the first `longer` of them one more.
      const std::uint64_t base = ranges[c].count / segments[c];
      const std::uint64_t longer = ranges[c].count % segments[c];
      const std::uint64_t begin = ranges[c].begin + s * base + std::min(s, longer);
      const std::uint64_t count = base + (s < longer ? 1 : 0);
      program.pieces.push_back({begin * element_bytes, count * element_bytes});
    }
    first_slot.push_back(static_cast<std::uint32_t>(program.pieces.size()));
  }
  program.slot_begin.assign(program.pieces.size() + 1, 0);
  return first_slot;
}

void add_tasks(Program& program, std::span<const std::uint32_t> first_slot,
               std::span<const std::uint32_t> segments) {
  const Plan& plan = *program.plan;
  const std::uint32_t most = std::max(1U, *std::ranges::max_element(segments));
  for (std::uint32_t t = 0; t < plan.transfers.size(); ++t) {
    const LocalTransfer& transfer = plan.transfers[t];
    const auto lane = static_cast<std::uint32_t>(
        std::lower_bound(plan.peers.begin(), plan.peers.end(), transfer.peer) - plan.peers.begin());
    for (std::uint32_t s = 0; s < segments[transfer.chunk]; ++s) {
      const std::uint32_t slot = first_slot[transfer.chunk] + s;
      const Program::Piece& piece = program.pieces[slot];
      program.tasks.push_back(
          {t, s, slot, lane, transfer.index * most + s, piece.begin, piece.bytes,
           rounds(program.wire) ? wire_bytes(program.wire, piece.bytes / sizeof(float))
                                : piece.bytes});
    }
  }
}

void sort_tasks(Program& program) {
  const auto& transfers = program.plan->transfers;
  // transfers are sorted by (step, chunk, action, index), so their number stands for all of that.
  std::sort(program.tasks.begin(), program.tasks.end(), [&](const Task& a, const Task& b) {
    return std::tuple(transfers[a.transfer].step + a.segment, a.transfer) <
           std::tuple(transfers[b.transfer].step + b.segment, b.transfer);
  });
}

/// In the order of the tasks, which both ends have.
void bundle_tasks(Program& program, std::uint64_t most) {
  std::map<std::pair<bool, std::uint32_t>, Bundle> open;  // of a step, by direction and lane
  const auto close = [&](Bundle& bundle) {
    if (bundle.tasks.size() > 1) {
      for (const std::uint32_t id : bundle.tasks) {
        program.tasks[id].bundle = static_cast<std::uint32_t>(program.bundles.size());
      }
      program.bundles.push_back(std::move(bundle));
    }
    bundle = {};
  };
  const auto& transfers = program.plan->transfers;
  for (std::uint32_t id = 0; id < program.tasks.size(); ++id) {
    Task& task = program.tasks[id];
    const LocalTransfer& transfer = transfers[task.transfer];
    if (id > 0 && transfers[program.tasks[id - 1].transfer].step != transfer.step) {
      for (auto& [key, bundle] : open) close(bundle);
      open.clear();
    }
    Bundle& bundle = open[{transfer.action == Action::Send, task.lane}];
    if (bundle.bytes + task.message_bytes > most) close(bundle);
    task.offset = bundle.bytes;
    bundle.tasks.push_back(id);
    bundle.bytes += task.message_bytes;
  }
  for (auto& [key, bundle] : open) close(bundle);
}

/// Most messages of one step that go through scratch: where steps are bundled, all that come in one
/// may be needed before any of them is taken.
std::uint32_t scratch_floor(const Program& program) {
  std::uint32_t most = program.plan->scratch_floor, now = 0, step = 0;
  if (program.bundles.empty()) return most;
  for (const std::uint32_t id : program.scratch_tasks) {
    const std::uint32_t of = program.plan->transfers[program.tasks[id].transfer].step;
    now = of == step ? now + 1 : 1;
    step = of;
    most = std::max(most, now);
  }
  return most;
}

/// Counting sort by slot; stable, so a slot's tasks stay in the schedule's order.
void group_by_slot(Program& program) {
  for (const Task& task : program.tasks) ++program.slot_begin[task.slot + 1];
  for (std::size_t s = 1; s < program.slot_begin.size(); ++s) {
    program.slot_begin[s] += program.slot_begin[s - 1];
  }
  std::vector<std::uint32_t> next(program.slot_begin.begin(), program.slot_begin.end() - 1);
  program.slot_tasks.resize(program.tasks.size());
  for (std::uint32_t id = 0; id < program.tasks.size(); ++id) {
    program.slot_tasks[next[program.tasks[id].slot]++] = id;
  }
}

}  // namespace

Plan make_plan(const Schedule& schedule, Rank self, bool rounded,
               std::span<const std::uint32_t> levels) {
  Plan plan;
  for (std::uint32_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& transfer = schedule.transfers[i];
    check(schedule, transfer);
    const std::uint32_t step = levels.empty() ? transfer.step : levels[i];
    if (transfer.src == self) {
      plan.transfers.push_back({step, Action::Send, i, transfer.chunk, seat_of(transfer.dst), false,
                                transfer.op == Op::Copy});
    } else if (transfer.dst == self) {
      const Action action = transfer.op == Op::Reduce ? Action::Reduce : Action::Copy;
      plan.transfers.push_back({step, action, i, transfer.chunk, seat_of(transfer.src)});
    }
  }
  std::sort(plan.transfers.begin(), plan.transfers.end(), [](const auto& a, const auto& b) {
    return std::tie(a.step, a.chunk, a.action, a.index) <
           std::tie(b.step, b.chunk, b.action, b.index);
  });
  for (const LocalTransfer& transfer : plan.transfers) plan.peers.push_back(transfer.peer);
  std::sort(plan.peers.begin(), plan.peers.end());
  plan.peers.erase(std::unique(plan.peers.begin(), plan.peers.end()), plan.peers.end());
  mark_scratch(plan, rounded);
  return plan;
}

Program compile(const Plan& plan, const Schedule& schedule, std::span<const ElementRange> ranges,
                const ProgramShape& shape) {
  Program program;
  program.plan = &plan;
  program.wire = shape.wire;
  const std::uint64_t limit = segment_elements(schedule, ranges, shape);
  const std::vector<std::uint32_t> segments = count_segments(ranges, limit);
  const std::vector<std::uint32_t> first_slot =
      add_slots(program, ranges, segments, shape.element_bytes);
  if (!segments.empty()) add_tasks(program, first_slot, segments);
  sort_tasks(program);
  const bool whole = std::ranges::all_of(segments, [](std::uint32_t count) { return count <= 1; });
  if (shape.bundle_bytes > 0 && whole) bundle_tasks(program, shape.bundle_bytes);
  group_by_slot(program);
  std::uint64_t longest = 0;
  std::vector<bool> sent_to(plan.peers.size());
  for (std::uint32_t id = 0; id < program.tasks.size(); ++id) {
    const Task& task = program.tasks[id];
    if (program.first_of(id) != id) continue;
    const std::uint64_t bytes = program.bytes_of(id);
    longest = std::max(longest, bytes);
    const bool send = plan.transfers[task.transfer].action == Action::Send;
    if (send) sent_to[task.lane] = true;
    program.receives |= !send;
    if (!send && program.through_scratch(task)) {
      program.scratch_tasks.push_back(id);
      program.scratch_bytes = std::max(program.scratch_bytes, bytes);
    }
  }
  program.scratch_floor = scratch_floor(program);
  program.scratch_blocks =
      std::max(program.scratch_floor, blocks_for(kScratchBytes, program.scratch_bytes, 8, 64));
  for (std::uint32_t p = 0; p < sent_to.size(); ++p) {
    if (sent_to[p]) program.sent_to.push_back(plan.peers[p]);
  }
  program.sends_in_flight = blocks_for(shape.window_bytes, longest, 4, 64);
  return program;
}

}  // namespace multitree::runtime
