// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dependency-driven execution: no barriers, every slot moves on when its next task can.
#include "runtime/execution/executor_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

ScratchPool::Block ScratchPool::take(std::size_t bytes) {
  for (std::size_t i = free_.size(); i-- > 0;) {
    if (free_[i].bytes >= bytes) {
      std::swap(free_[i], free_.back());
      Block block = std::move(free_.back());
      free_.pop_back();
      return block;
    }
  }
  free_.clear();  // all too small: buffers have grown, make room for larger ones
  return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
}

void ScratchPool::give(Block block) { free_.push_back(std::move(block)); }

Execution::Execution(const Program& program, const std::byte* input, std::byte* data,
                     const Context& context)
    : program_(program),
      input_(input),
      data_(data),
      context_(context),
      slots_(program.slot_begin.size() - 1),
      completions_(program.tasks.size()),
      block_of_(program.tasks.size()),
      bundles_(program, context.pool),
      unfinished_(program.tasks.size()) {
  if (context.recorder != nullptr) {
    recording_ = std::make_unique<TaskRecording>(*context.recorder, program);
  }
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    slots_[s].next = program.slot_begin[s];
    slots_[s].end = program.slot_begin[s + 1];
    slots_[s].untouched = input != data;
  }
  for (std::uint32_t id = 0; id < completions_.size(); ++id) {
    completions_[id].id = id;
    completions_[id].finished = &finished_;
    completions_[id].or_less = program.wire == WireType::Lossless;
  }
  if (program.wire != WireType::AsIs) {
    encodings_ = std::make_unique<Encodings>(program, context.type, context.pool);
  }
  const std::size_t blocks =
      std::min<std::size_t>(program.scratch_blocks, program.scratch_tasks.size());
  for (std::uint32_t b = 0; b < blocks; ++b) {
    blocks_.push_back(context.pool.take(program.scratch_bytes));
    free_blocks_.push_back(b);
  }
  for (const Seat peer : program.plan->peers) {
    lines_.emplace_back(context_.outbox, peer, static_cast<Sender&>(*this), context_.turn);
  }
  if (unfinished_ != 0) context_.outbox.enter(context_.turn.urgency);
}

Execution::~Execution() {
  if (unfinished_ != 0) context_.outbox.leave(context_.turn.urgency);
  for (ScratchPool::Block& block : blocks_) context_.pool.give(std::move(block));
}

void Execution::begin_departure() {
  if (unfinished_ == 0 && !departure_.begun()) {
    departure_.begin(context_.transport, program_.sent_to);
  }
}

void Execution::start() {
  begin_departure();
  post_scratch();
  // In task order rather than slot by slot, so that the first sends of the wire are the first
  // needed.
  for (const Task& task : program_.tasks) {
    Slot& slot = slots_[task.slot];
    if (slot.next == program_.slot_begin[task.slot]) run_slot(slot);
  }
}

bool Execution::advance() {
  if (finished_.empty()) return false;
  batch_.swap(finished_);
  for (const Completion* completion : batch_) {
    if (completion->state == Completion::State::Failed) {
      throw Error(ErrorCode::Transport,
                  fmt::format("{} while {}", completion->error, words(completion->id)));
    }
    on_finished(completion->id);
  }
  batch_.clear();
  if (unfinished_ != 0) {
    context_.outbox.moved(context_.turn.urgency);
  } else if (!departure_.begun()) {
    begin_departure();
    context_.outbox.leave(context_.turn.urgency);  // what goes on now is behind it
  }
  return true;
}

void Execution::on_finished(std::uint32_t id) {
  const Task& first = program_.tasks[id];
  const bool sent = transfer_of(first).action == Action::Send;
  const auto tasks = program_.message_of(id);
  for (const std::uint32_t one : tasks) {
    if (recording_) recording_->finish(one);
    Slot& slot = slots_[program_.tasks[one].slot];
    if (sent) {
      --slot.sends;
      --unfinished_;
    } else if (!program_.through_scratch(first)) {
      slot.untouched = false;
      ++slot.next;
      --unfinished_;
    }
  }
  if (sent) {
    bundles_.drop(first.bundle);
    lines_[first.lane].left(id);
  }
  for (const std::uint32_t one : tasks) {
    Slot& slot = slots_[program_.tasks[one].slot];
    run_slot(slot);
    if (encodings_ && slot.next == slot.end && slot.sends == 0) {
      encodings_->drop(program_.tasks[one].slot);
    }
  }
}

void Execution::run_slot(Slot& slot) {
  while (slot.next != slot.end) {
    const std::uint32_t id = program_.slot_tasks[slot.next];
    if (transfer_of(program_.tasks[id]).action == Action::Send) {
      ++slot.sends;
      const Task& task = program_.tasks[id];
      if (bundles_.count(task.bundle)) {
        const std::uint32_t first = program_.first_of(id);
        lines_[task.lane].add(first, program_.bytes_of(first));
      }
    } else if (!run_receive(id, slot)) {
      return;
    }
    ++slot.next;
  }
}

/// True if the receive was applied; false if the slot must wait.
bool Execution::run_receive(std::uint32_t id, const Slot& slot) {
  if (slot.sends != 0) return false;
  const Task& task = program_.tasks[id];
  Completion& completion = completions_[program_.first_of(id)];
  if (program_.through_scratch(task)) {
    if (completion.state != Completion::State::Done) return false;
    apply_scratch(id);
    return true;
  }
  if (completion.state == Completion::State::Idle) {
    context_.transport.receive(program_.plan->peers[task.lane], context_.tag ^ task.message,
                               data_ + task.begin, task.message_bytes, completion);
  }
  return false;  // on_finished() passes it
}

void Execution::apply_scratch(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  Slot& slot = slots_[task.slot];
  if (recording_) recording_->begin_applying(id);
  const std::uint32_t block = block_of_[program_.first_of(id)];
  take(id, blocks_[block]);
  if (recording_) recording_->finish_applying(id);
  slot.untouched = false;
  --unfinished_;
  if (!bundles_.count(task.bundle)) return;
  free_blocks_.push_back(block);
  post_scratch();
}

void Execution::take(std::uint32_t id, ScratchPool::Block& block) {
  const Task& task = program_.tasks[id];
  const Slot& slot = slots_[task.slot];
  const std::byte* received = block.data.get() + task.offset;
  const std::byte* first = slot.untouched ? input_ : data_;
  const bool copies = transfer_of(task).action == Action::Copy;
  if (encodings_) {
    unpack(id, block, first);
  } else if (copies) {
    std::copy_n(received, task.bytes, data_ + task.begin);
  } else {
    reduce(data_ + task.begin, first + task.begin, received, task.bytes / size_of(context_.type),
           context_.type, context_.op, context_.function);
  }
}

/// \throws Error(Transport) naming the message, if that is none
void Execution::unpack(std::uint32_t id, ScratchPool::Block& block, const std::byte* first) {
  const Task& task = program_.tasks[id];
  const Encodings::Message message{block.data.get(), completions_[id].came};
  try {
    if (transfer_of(task).action == Action::Copy) {
      encodings_->decode(task.slot, message, data_);
      encodings_->keep(task.slot, block, message.bytes);
    } else {
      encodings_->reduce(task.slot, message, first, data_, context_.op, context_.function);
      encodings_->drop(task.slot);
    }
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} while {}", error.what(), words(id)));
  }
}

void Execution::copy_untouched(std::uint64_t begin, std::uint64_t end) {
  if (input_ == data_) return;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const Program::Piece& piece = program_.pieces[s];
    if (!slots_[s].untouched || piece.begin < begin || piece.begin >= end) continue;
    std::copy_n(input_ + piece.begin, piece.bytes, data_ + piece.begin);
    slots_[s].untouched = false;
  }
}

void Execution::post_scratch() {
  while (!free_blocks_.empty() && next_scratch_ < program_.scratch_tasks.size()) {
    const std::uint32_t id = program_.scratch_tasks[next_scratch_++];
    const Task& task = program_.tasks[id];
    block_of_[id] = free_blocks_.back();
    free_blocks_.pop_back();
    context_.transport.receive(program_.plan->peers[task.lane], context_.tag ^ task.message,
                               blocks_[block_of_[id]].data.get(), program_.bytes_of(id),
                               completions_[id]);
  }
}

void Execution::post(std::uint32_t id) {
  const Task& task = program_.tasks[id];
  const auto tasks = program_.message_of(id);
  if (recording_) {
    for (const std::uint32_t one : tasks) recording_->begin_send(one);
  }
  const Encodings::Message message = tasks.size() == 1 ? message_of(task) : gathered(tasks);
  context_.transport.send(program_.plan->peers[task.lane], context_.tag ^ task.message,
                          message.data, message.bytes, completions_[id]);
}

Encodings::Message Execution::message_of(const Task& task) {
  Slot& slot = slots_[task.slot];
  const std::byte* value = (slot.untouched ? input_ : data_) + task.begin;
  if (!encodings_) return {value, task.message_bytes};
  const bool passed_on = encodings_->has(task.slot);
  const Encodings::Message message = encodings_->of(task.slot, value);
  if (transfer_of(task).settles && !passed_on && rounds(program_.wire)) {
    // This is where the value is settled: what all others get is the value here as well.
    encodings_->decode(task.slot, message, data_);
    slot.untouched = false;
  }
  return message;
}

Encodings::Message Execution::gathered(std::span<const std::uint32_t> tasks) {
  const std::uint32_t bundle = program_.tasks[tasks.front()].bundle;
  std::byte* const message = bundles_.take(bundle);
  for (const std::uint32_t id : tasks) {
    const Task& task = program_.tasks[id];
    const std::byte* value = slots_[task.slot].untouched ? input_ : data_;
    std::copy_n(value + task.begin, task.bytes, message + task.offset);
  }
  return {message, program_.bundles[bundle].bytes};
}

std::string Execution::words(std::uint32_t id) const {
  const Task& task = program_.tasks[id];
  const LocalTransfer& transfer = transfer_of(task);
  const bool send = transfer.action == Action::Send;
  return fmt::format("waiting to {} chunk {} segment {} {} rank {} at step {}",
                     send ? "send" : "receive", transfer.chunk, task.segment, send ? "to" : "from",
                     transfer.peer, transfer.step);
}

std::string Execution::waiting_for() const {
  for (std::uint32_t id = 0; id < completions_.size(); ++id) {
    // One that has failed waited for the very peer that is lost.
    const Completion::State state = completions_[id].state;
    if (state == Completion::State::Pending || state == Completion::State::Failed) return words(id);
  }
  return done() ? "waiting for nothing" : "waiting for the last messages to leave";
}

std::vector<Seat> Execution::awaited_ranks() const {
  std::vector<Seat> ranks;
  for (std::uint32_t id = 0; id < completions_.size(); ++id) {
    if (completions_[id].state != Completion::State::Pending) continue;
    ranks.push_back(program_.plan->peers[program_.tasks[id].lane]);
  }
  return ranks;
}

}  // namespace multitree::runtime
