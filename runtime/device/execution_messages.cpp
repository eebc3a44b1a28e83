// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The transport's side of an execution on device memory: blocks, sends, receives and notices.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "runtime/device/execution_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::device {
namespace {

constexpr std::uint64_t kMagic = 0x6d756c7469747265;
/// What a receiver answers to a notice: it has read the data, or wants it as a message.
constexpr std::uint64_t kRead = 0x72656164;
constexpr std::uint64_t kRefused = 0x6e6f6d6170;

/// Kernels read kVector bytes at a time where all their pointers are equally far from a multiple of
/// it.
std::byte* aligned_as(std::byte* block, const std::byte* other) {
  return block + reinterpret_cast<std::uintptr_t>(other) % kVector;
}

}  // namespace

void DeviceExecution::post_receives() {
  while (posted_ < most_posted_ && next_receive_ < window_.size()) {
    const std::uint32_t id = window_[next_receive_++];
    const Task& task = program_.tasks[id];
    Passage& passage = passages_[id];
    const std::uint64_t tag = context_.tag ^ task.message;
    ++posted_;
    switch (route_of(id)) {
      case Route::Staged:
        passage.pinned = w_.pinned.take(task.bytes);
        context_.transport.receive(peer_of(id), tag, passage.pinned.memory, task.bytes,
                                   completions_[id]);
        break;
      case Route::Direct:
        passage.scratch = w_.scratch.take(task.bytes + kVector);
        context_.transport.receive_device(peer_of(id), tag,
                                          aligned_as(passage.scratch.memory, data_ + task.begin),
                                          task.bytes, completions_[id]);
        break;
      case Route::Mapped:
        context_.transport.receive(peer_of(id), tag, &passage.notice, sizeof(Notice),
                                   completions_[id]);
        break;
    }
  }
}

void DeviceExecution::on_arrived(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  Passage& passage = passages_[id];
  switch (way_of(id)) {
    case Route::Staged:
      if (transfer_of(id).action == Action::Copy) {
        passage.where = passage.pinned.memory;
        break;
      }
      passage.scratch = w_.scratch.take(task.bytes + kVector);
      passage.where = aligned_as(passage.scratch.memory, data_ + task.begin);
      w_.device->copy(const_cast<std::byte*>(passage.where), passage.pinned.memory, task.bytes,
                      w_.in.stream());
      passage.mark = w_.in.mark();
      break;
    case Route::Direct:
      passage.where = aligned_as(passage.scratch.memory, data_ + task.begin);
      break;
    case Route::Mapped:
      if (passage.notice.magic != kMagic) {
        throw Error(ErrorCode::Transport,
                    fmt::format("data instead of a notice, as if the peer's buffers were host "
                                "memory, while {}",
                                words(id)));
      }
      passage.where = map(id);
      if (passage.where == nullptr) return refuse(id);
      passage.open = 2;  // applied, and the answer sent
      lingering_.push_back(id);
      break;
  }
  runnable_.push_back(task.slot);
}

/// Null if the driver does not want to.
const std::byte* DeviceExecution::map(std::uint32_t id) {
  const Notice& notice = passages_[id].notice;
  try {
    return w_.mappings.map(peer_of(id), static_cast<std::uint32_t>(notice.arena), notice.handle) +
           notice.offset;
  } catch (const Error&) {
    return nullptr;
  }
}

/// Asks the sender of a notice for the data itself. Rare, as routes are chosen by trying: the block
/// for it is beyond what was counted.
void DeviceExecution::refuse(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  const std::uint64_t tag = context_.tag ^ task.message;
  Passage& passage = passages_[id];
  passage.refused = passage.answered = true;
  passage.open = 2;  // applied, and the answer sent
  passage.pinned = w_.pinned.take(task.bytes);
  context_.transport.receive(peer_of(id), tag, passage.pinned.memory, task.bytes, completions_[id]);
  context_.transport.send(peer_of(id), tag, &kRefused, sizeof kRefused, notices_[id]);
}

/// From the block that the receiver could not map.
void DeviceExecution::send_refused(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  Passage& passage = passages_[id];
  passage.refused = true;
  passage.pinned = w_.pinned.take(task.bytes);
  w_.device->copy(passage.pinned.memory, aligned_as(passage.shared.memory, data_ + task.begin),
                  task.bytes, w_.out.stream());
  leaving_.push_back({w_.out.mark(), {id}});
}

void DeviceExecution::on_applied(std::uint32_t id) {
  Passage& passage = passages_[id];
  if (passage.pinned.memory != nullptr) w_.pinned.give(passage.pinned);
  if (passage.scratch.memory != nullptr) w_.scratch.give(passage.scratch);
  passage.pinned = passage.scratch = {};
  --posted_;
  if (route_of(id) == Route::Mapped) {
    answer(id);
    if (--passage.open == 0) --unfinished_;
  } else {
    --unfinished_;
  }
  post_receives();
}

/// Tells the sender of a notice that its block is free.
void DeviceExecution::answer(std::uint32_t id) {
  if (passages_[id].answered) return;
  passages_[id].answered = true;
  context_.transport.send(peer_of(id), context_.tag ^ program_.tasks[id].message, &kRead,
                          sizeof kRead, notices_[id]);
}

/// Moves what has arrived, but waits for others, from its senders' blocks to scratch.
void DeviceExecution::copy_out() {
  for (const std::uint32_t id : lingering_) {
    const Task& task = program_.tasks[id];
    Passage& passage = passages_[id];
    if (passage.applied) continue;
    passage.scratch = w_.scratch.take(task.bytes + kVector);
    std::byte* to = aligned_as(passage.scratch.memory, data_ + task.begin);
    w_.device->copy(to, passage.where, task.bytes, w_.in.stream());
    passage.mark = w_.in.mark();
    passage.where = to;
    reading_.push_back({passage.mark, {id}});
  }
  lingering_.clear();
}

bool DeviceExecution::answer_read() {
  bool moved = false;
  for (; !reading_.empty() && w_.in.done(reading_.front().mark); reading_.pop_front()) {
    answer(reading_.front().tasks.front());
    moved = true;
  }
  // Applied ones are forgotten now and then.
  if (lingering_.size() > 2 * most_posted_) {
    std::erase_if(lingering_, [&](std::uint32_t id) { return passages_[id].applied; });
  }
  return moved;
}

void DeviceExecution::queue_send(std::uint32_t id) {
  Lane& lane = lanes_[program_.tasks[id].lane];
  lane.queue.push_back(id);
  std::push_heap(lane.queue.begin(), lane.queue.end(), std::greater<>());
  pump(lane);
}

void DeviceExecution::pump(Lane& lane) {
  while (!lane.queue.empty()) {
    const std::uint32_t id = lane.queue.front();
    const bool room = lane.in_flight.size() < program_.sends_in_flight;
    if (!room && id > *std::min_element(lane.in_flight.begin(), lane.in_flight.end())) return;
    std::pop_heap(lane.queue.begin(), lane.queue.end(), std::greater<>());
    lane.queue.pop_back();
    lane.in_flight.push_back(id);
    begin_send(id);
  }
}

/// Puts the copy out of the buffer on its stream; from then on the buffer may be written again, by
/// what is put behind that copy.
void DeviceExecution::begin_send(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  Slot& slot = slots_[task.slot];
  Passage& passage = passages_[id];
  const Route route = route_of(id);
  if (route == Route::Direct) {
    if (slot.ready.reached()) {
      post_send(id);
    } else {
      waiting_sends_.push_back(id);
    }
    return;
  }
  const std::byte* from = (slot.untouched ? input_ : data_) + task.begin;
  std::byte* to = nullptr;
  if (route == Route::Staged) {
    passage.pinned = w_.pinned.take(task.bytes);
    to = passage.pinned.memory;
  } else {
    passage.shared = w_.shared.take(task.bytes + kVector);
    to = aligned_as(passage.shared.memory, data_ + task.begin);
    passage.notice = {kMagic, w_.shared.offset(passage.shared) + (to - passage.shared.memory),
                      passage.shared.arena, w_.shared.handle(passage.shared)};
  }
  if (slot.ready.timeline != nullptr) w_.out.wait(*slot.ready.timeline, slot.ready.mark);
  w_.device->copy(to, from, task.bytes, w_.out.stream());
  slot.read = w_.out.mark();
  leaving_.push_back({slot.read, {id}});
  if (--slot.sends == 0) runnable_.push_back(task.slot);
}

/// The data lies where the transport can take it.
void DeviceExecution::post_send(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  Passage& passage = passages_[id];
  const std::uint64_t tag = context_.tag ^ task.message;
  passage.open = 1;
  switch (way_of(id)) {
    case Route::Staged:
      context_.transport.send(peer_of(id), tag, passage.pinned.memory, task.bytes,
                              completions_[id]);
      break;
    case Route::Direct:
      context_.transport.send_device(peer_of(id), tag,
                                     (slots_[task.slot].untouched ? input_ : data_) + task.begin,
                                     task.bytes, completions_[id]);
      break;
    case Route::Mapped:
      passage.open = 2;
      passage.answer = 0;
      context_.transport.receive(peer_of(id), tag, &passage.answer, sizeof passage.answer,
                                 notices_[id]);
      context_.transport.send(peer_of(id), tag, &passage.notice, sizeof(Notice), completions_[id]);
      break;
  }
}

void DeviceExecution::send_over(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  Passage& passage = passages_[id];
  Lane& lane = lanes_[task.lane];
  if (passage.pinned.memory != nullptr) w_.pinned.give(passage.pinned);
  if (passage.shared.memory != nullptr) w_.shared.give(passage.shared);
  passage.pinned = passage.shared = {};
  if (route_of(id) == Route::Direct && --slots_[task.slot].sends == 0) {
    runnable_.push_back(task.slot);
  }
  std::erase(lane.in_flight, id);
  --unfinished_;
  pump(lane);
}

void DeviceExecution::on_finished(const Completion& completion) {
  const std::uint32_t id = completion.id;
  const LocalTransfer& transfer = transfer_of(id);
  if (transfer.action == Action::Send) {
    Passage& passage = passages_[id];
    if (--passage.open != 0) return;
    passage.answer == kRefused && !passage.refused ? send_refused(id) : send_over(id);
  } else if (&completion == &notices_[id]) {
    if (--passages_[id].open == 0) --unfinished_;
  } else if (route_of(id) == Route::Direct && !transfer.scratch) {
    Slot& slot = slots_[program_.tasks[id].slot];
    slot.untouched = false;
    ++slot.next;
    --unfinished_;
    runnable_.push_back(program_.tasks[id].slot);
  } else {
    on_arrived(id);
  }
}

}  // namespace multitree::runtime::device
