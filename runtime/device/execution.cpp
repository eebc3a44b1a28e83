// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is put on which stream when; sending is in execution_messages.cpp.
#include "runtime/device/execution_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "topologies/error.hpp"

namespace multitree::runtime::device {
namespace {

/// Rounds without any movement before mapped messages are copied out: some hundred microseconds.
constexpr std::uint32_t kPatience = 512;

}  // namespace

DeviceExecution::DeviceExecution(const Program& program, const Context& context)
    : program_(program),
      context_(context),
      w_(context.workspace),
      slots_(program.slot_begin.size() - 1),
      lanes_(program.plan->peers.size()),
      completions_(program.tasks.size()),
      notices_(program.tasks.size()),
      passages_(program.tasks.size()),
      unfinished_(program.tasks.size()) {
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    slots_[s].next = program.slot_begin[s];
    slots_[s].end = program.slot_begin[s + 1];
  }
  for (std::uint32_t id = 0; id < completions_.size(); ++id) {
    completions_[id].id = notices_[id].id = id;
    completions_[id].finished = notices_[id].finished = &finished_;
  }
  prepare_window();
  count_needs();
}

DeviceExecution::~DeviceExecution() {
  for (const Passage& passage : passages_) {
    if (passage.pinned.memory != nullptr) w_.pinned.give(passage.pinned);
    if (passage.scratch.memory != nullptr) w_.scratch.give(passage.scratch);
    if (passage.shared.memory != nullptr) w_.shared.give(passage.shared);
  }
}

Route DeviceExecution::route_of(std::uint32_t id) const {
  const bool send = transfer_of(id).action == Action::Send;
  return (send ? w_.routes.send : w_.routes.receive)[index(peer_of(id))];
}

/// One past the tasks (positions in slot_tasks) that are applied together with that at `position`.
std::uint32_t DeviceExecution::group_end(std::uint32_t position, std::uint32_t end) const {
  std::uint32_t last = position;
  while (last != end && last - position < kMaxInputs - 1 &&
         transfer_of(program_.slot_tasks[last]).action == Action::Reduce) {
    ++last;
  }
  return std::max(last, position + 1);
}

/// Which receives are posted ahead, and how many at a time.
void DeviceExecution::prepare_window() {
  std::vector<std::uint32_t> place(program_.tasks.size());
  std::size_t level_size = 0, level_most = 0;
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> level;
  for (std::uint32_t id = 0; id < program_.tasks.size(); ++id) {
    const LocalTransfer& transfer = transfer_of(id);
    if (transfer.action == Action::Send) continue;
    if (route_of(id) == Route::Direct && !transfer.scratch) continue;
    const std::tuple here{transfer.step + program_.tasks[id].segment, transfer.step,
                          transfer.chunk};
    level_size = here == level ? level_size + 1 : 1;
    level = here;
    level_most = std::max(level_most, level_size);
    place[id] = static_cast<std::uint32_t>(window_.size());
    window_.push_back(id);
  }
  std::size_t span = 0;
  for (const Slot& slot : slots_) {
    for (std::uint32_t p = slot.next; p != slot.end;) {
      const std::uint32_t end = group_end(p, slot.end);
      if (end - p > 1) {
        span = std::max<std::size_t>(
            span, place[program_.slot_tasks[end - 1]] - place[program_.slot_tasks[p]]);
      }
      p = end;
    }
  }
  most_posted_ = std::max<std::size_t>(program_.scratch_blocks, span + level_most + 1);
}

void DeviceExecution::count_needs() {
  std::size_t staged = 0, scratch = 0;
  for (const std::uint32_t id : window_) {
    const Route route = route_of(id);
    staged += route == Route::Staged ? 1 : 0;
    // A staged copy goes from the pinned block into the buffer.
    scratch += route == Route::Staged && transfer_of(id).action == Action::Copy ? 0 : 1;
  }
  needs_.pinned = std::min(staged, most_posted_);
  needs_.scratch = std::min(scratch, most_posted_);
  std::vector<std::size_t> sends(lanes_.size());
  for (std::uint32_t id = 0; id < program_.tasks.size(); ++id) {
    const Task& task = program_.tasks[id];
    needs_.bytes = std::max<std::size_t>(needs_.bytes, task.bytes + kVector);
    if (transfer_of(id).action != Action::Send || sends[task.lane] > program_.sends_in_flight) {
      continue;
    }
    ++sends[task.lane];
    if (route_of(id) == Route::Staged) ++needs_.pinned;
    if (route_of(id) == Route::Mapped) ++needs_.shared;
  }
}

void DeviceExecution::start(const std::byte* input, std::byte* data, Moment ready) {
  input_ = input;
  data_ = data;
  for (Slot& slot : slots_) {
    slot.untouched = input != data;
    slot.ready = ready;
  }
  post_receives();
  for (const Task& task : program_.tasks) {
    Slot& slot = slots_[task.slot];
    if (slot.next == program_.slot_begin[task.slot]) run_slot(slot);
  }
  run_waiting();
}

bool DeviceExecution::advance() {
  bool moved = settle(w_.out, leaving_);
  moved |= answer_read();
  moved |= settle(w_.in, entering_);
  moved |= settle(w_.compute, applying_);
  if (!finished_.empty()) {
    moved = true;
    batch_.swap(finished_);
    for (const Completion* completion : batch_) {
      if (completion->state == Completion::State::Failed) {
        throw Error(ErrorCode::Transport,
                    fmt::format("{} while {}", completion->error, words(completion->id)));
      }
      on_finished(*completion);
    }
    batch_.clear();
  }
  // What waited for a write that may be done now.
  std::erase_if(waiting_sends_, [&](std::uint32_t id) {
    if (!slots_[program_.tasks[id].slot].ready.reached()) return false;
    post_send(id);
    return moved = true;
  });
  for (const std::uint32_t slot : stalled_) {
    slots_[slot].stalled = false;
    runnable_.push_back(slot);
  }
  stalled_.clear();
  run_waiting();
  quiet_rounds_ = moved ? 0 : quiet_rounds_ + 1;
  if (quiet_rounds_ == kPatience) copy_out();
  return moved;
}

/// Looks at slots again that something has happened to, until nothing is left to do at once.
void DeviceExecution::run_waiting() {
  while (!runnable_.empty()) {
    const std::uint32_t slot = runnable_.back();
    runnable_.pop_back();
    run_slot(slots_[slot]);
  }
}

bool DeviceExecution::settle(const Timeline& timeline, std::deque<Pending>& pending) {
  bool moved = false;
  while (!pending.empty() && timeline.done(pending.front().mark)) {
    const Pending reached = std::move(pending.front());
    pending.pop_front();
    for (const std::uint32_t id : reached.tasks) {
      if (transfer_of(id).action == Action::Send) {
        post_send(id);
      } else {
        on_applied(id);
      }
    }
    moved = true;
  }
  return moved;
}

void DeviceExecution::run_slot(Slot& slot) {
  while (slot.next != slot.end) {
    const std::uint32_t id = program_.slot_tasks[slot.next];
    if (transfer_of(id).action == Action::Send) {
      ++slot.sends;
      ++slot.next;
      queue_send(id);
    } else if (!run_group(slot)) {
      return;
    }
  }
}

/// True if the next receives of the slot were put on a stream; false if they must wait.
bool DeviceExecution::run_group(Slot& slot) {
  if (slot.sends != 0) return false;
  const std::uint32_t first = program_.slot_tasks[slot.next];
  const LocalTransfer& transfer = transfer_of(first);
  if (route_of(first) == Route::Direct && !transfer.scratch) return receive_in_place(first, slot);
  const std::uint32_t end = group_end(slot.next, slot.end);
  for (std::uint32_t p = slot.next; p != end; ++p) {
    if (passages_[program_.slot_tasks[p]].where == nullptr) return false;
  }
  if (transfer.action == Action::Reduce) {
    reduce_group(slot, slot.next, end);
  } else {
    copy_one(slot, first);
  }
  slot.untouched = false;
  slot.next = end;
  return true;
}

/// The transport writes the buffer itself, when nothing on a stream has to do with it any more.
bool DeviceExecution::receive_in_place(std::uint32_t id, Slot& slot) {
  Completion& completion = completions_[id];
  if (completion.state == Completion::State::Idle && slot.ready.reached() &&
      w_.out.done(slot.read)) {
    const Task& task = program_.tasks[id];
    context_.transport.receive_device(peer_of(id), context_.tag ^ task.message, data_ + task.begin,
                                      task.bytes, completion);
  } else if (completion.state == Completion::State::Idle && !slot.stalled) {
    slot.stalled = true;
    stalled_.push_back(program_.tasks[id].slot);
  }
  return false;  // on_finished() passes it
}

void DeviceExecution::reduce_group(Slot& slot, std::uint32_t begin, std::uint32_t end) {
  const Task& task = program_.tasks[program_.slot_tasks[begin]];
  Pending pending;
  Reduction reduction;
  reduction.result = data_ + task.begin;
  reduction.inputs[0] = (slot.untouched ? input_ : data_) + task.begin;
  reduction.input_count = 1;
  reduction.count = task.bytes / size_of(context_.type);
  reduction.type = context_.type;
  reduction.op = context_.op;
  for (std::uint32_t p = begin; p != end; ++p) {
    const std::uint32_t id = program_.slot_tasks[p];
    reduction.inputs[reduction.input_count++] = passages_[id].where;
    w_.compute.wait(w_.in, passages_[id].mark);
    passages_[id].applied = true;
    pending.tasks.push_back(id);
  }
  if (slot.ready.timeline != nullptr) w_.compute.wait(*slot.ready.timeline, slot.ready.mark);
  w_.compute.wait(w_.out, slot.read);
  w_.device->reduce(reduction, w_.compute.stream());
  pending.mark = w_.compute.mark();
  slot.ready = {&w_.compute, pending.mark};
  applying_.push_back(std::move(pending));
}

void DeviceExecution::copy_one(Slot& slot, std::uint32_t id) {
  const Task& task = program_.tasks[id];
  Passage& passage = passages_[id];
  passage.applied = true;
  // From the host by the stream of what enters; within the device with the reductions.
  const bool entering = passage.pinned.memory != nullptr;
  Timeline& timeline = entering ? w_.in : w_.compute;
  if (slot.ready.timeline != nullptr) timeline.wait(*slot.ready.timeline, slot.ready.mark);
  timeline.wait(w_.out, slot.read);
  timeline.wait(w_.in, passage.mark);
  w_.device->copy(data_ + task.begin, passage.where, task.bytes, timeline.stream());
  const std::uint64_t mark = timeline.mark();
  slot.ready = {&timeline, mark};
  (entering ? entering_ : applying_).push_back({mark, {id}});
}

void DeviceExecution::copy_untouched(std::uint64_t begin, std::uint64_t end) {
  if (input_ == data_) return;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Program::Piece& piece = program_.pieces[s];
    if (!slots_[s].untouched || piece.begin < begin || piece.begin >= end) continue;
    w_.device->copy(data_ + piece.begin, input_ + piece.begin, piece.bytes, w_.compute.stream());
    slots_[s].untouched = false;
  }
}

std::string DeviceExecution::words(std::uint32_t id) const {
  const LocalTransfer& transfer = transfer_of(id);
  const bool send = transfer.action == Action::Send;
  return fmt::format("waiting to {} chunk {} segment {} {} rank {} at step {}",
                     send ? "send" : "receive", transfer.chunk, program_.tasks[id].segment,
                     send ? "to" : "from", transfer.peer, transfer.step);
}

std::string DeviceExecution::waiting_for() const {
  for (std::uint32_t id = 0; id < completions_.size(); ++id) {
    if (completions_[id].state == Completion::State::Pending ||
        notices_[id].state == Completion::State::Pending) {
      return words(id);
    }
  }
  return w_.idle() ? "waiting for nothing" : "waiting for the device";
}

std::vector<Seat> DeviceExecution::awaited_ranks() const {
  std::vector<Seat> ranks;
  for (std::uint32_t id = 0; id < completions_.size(); ++id) {
    if (completions_[id].state == Completion::State::Pending ||
        notices_[id].state == Completion::State::Pending) {
      ranks.push_back(transfer_of(id).peer);
    }
  }
  return ranks;
}

}  // namespace multitree::runtime::device
