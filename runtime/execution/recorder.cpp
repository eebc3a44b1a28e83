// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recording of messages and of phases without messages.
#include "runtime/execution/recorder.hpp"

#include "runtime/execution/recording_internal.hpp"

namespace multitree::runtime {

void Recorder::start(Mode mode, std::size_t transfers) {
  mode_ = mode;
  size_ = 0;
  lost_ = 0;
  sent_.assign(transfers, 0);
}

TaskRecording::TaskRecording(Recorder& recorder, const Program& program)
    : recorder_(recorder),
      program_(program),
      begun_(recorder.keeps_events() ? program.tasks.size() : 0) {}

void TaskRecording::begin_send(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  recorder_.count(program_.plan->transfers[task.transfer].index, task.message_bytes);
  if (!begun_.empty()) begun_[id] = Recorder::now();
}

void TaskRecording::finish(std::uint32_t id) {
  if (begun_.empty()) return;
  const std::int64_t now = Recorder::now();
  const bool sent = transfer_of(id).action == Action::Send;
  add(id, sent ? Event::Kind::Send : Event::Kind::Receive, sent ? begun_[id] : now, now);
}

void TaskRecording::begin_applying(std::uint32_t id) {
  if (!begun_.empty()) begun_[id] = Recorder::now();
}

void TaskRecording::finish_applying(std::uint32_t id) {
  if (begun_.empty()) return;
  const bool copied = transfer_of(id).action == Action::Copy;
  add(id, copied ? Event::Kind::Copy : Event::Kind::Reduce, begun_[id], Recorder::now());
}

const LocalTransfer& TaskRecording::transfer_of(std::uint32_t id) const {
  return program_.plan->transfers[program_.tasks[id].transfer];
}

void TaskRecording::add(std::uint32_t id, Event::Kind kind, std::int64_t begin, std::int64_t end) {
  const Task& task = program_.tasks[id];
  const LocalTransfer& transfer = transfer_of(id);
  recorder_.add(
      {kind, transfer.index, task.segment, rank_at(transfer.peer), task.message_bytes, begin, end});
}

}  // namespace multitree::runtime
