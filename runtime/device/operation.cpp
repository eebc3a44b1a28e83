// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From the user's stream to the execution and back.
#include "runtime/device/operation_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <thread>

namespace multitree::runtime::device {
namespace {

/// Copies and reductions that were put on streams end by themselves; a device that has not ended
/// them by then never will.
constexpr std::chrono::seconds kQuiet{5};

/// A kernel that has not begun will see that we have given up, whenever that is.
bool quiesce(Workspace& workspace, const OwnedEvent* before, const OwnedEvent* after) {
  const auto until = std::chrono::steady_clock::now() + kQuiet;
  try {
    if (after != nullptr && !before->reached()) return false;
    while (!workspace.idle() || (after != nullptr && !after->reached())) {
      if (workspace.poll()) continue;
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
  } catch (const Error&) {  // the device has failed
    return false;
  }
  return true;
}

}  // namespace

StreamOperation::StreamOperation(std::shared_ptr<Engine> engine,
                                 std::shared_ptr<Workspace> workspace,
                                 std::shared_ptr<const LoadedProgram> program, const Call& call,
                                 std::uint64_t sequence)
    : engine_(std::move(engine)),
      workspace_(std::move(workspace)),
      program_(std::move(program)),
      call_(call),
      layout_(layout_of(call, rank_at(engine_->bootstrap().seat()), engine_->bootstrap().size(),
                        program_->source->schedule.root)),
      // Where notices travel instead of data, host and device must not be taken for each other.
      tag_(tag_of(sequence, workspace_->routes.any_mapped ? Memory::Device : Memory::Host,
                  shared_call(call, *program_))),
      name_(fmt::format("{} #{}", to_string(call.collective), sequence)) {
  Workspace& w = *workspace_;
  if (w.walking != nullptr && w.walking->takes(program_->program)) {
    walking_ = w.walking.get();
    list_ = walking_->list_of(program_, walk_shape());
    needs_ = walking_->needs(*list_);
  } else {
    execution_ = std::make_unique<DeviceExecution>(
        program_->program,
        DeviceExecution::Context{engine_->transport(), w, tag_, call.type, call.op});
    needs_ = execution_->needs();
    // Who receives nothing only sends what it has.
    const bool writes = layout_.receives || program_->program.receives || !layout_.sends_whole();
    needs_.work = layout_.works_in_recv() || !writes ? 0 : layout_.whole;
    needs_.works = needs_.work == 0 ? 0 : 1;
  }
}

void StreamOperation::enqueue(Stream stream, bool hold) {
  before_ = std::make_shared<OwnedEvent>(workspace_->device);
  before_->record(stream);
  if (walking_ != nullptr) return walk(stream, hold);
  if (!hold) return;
  flag_ = workspace_->flags.take();
  try {
    workspace_->device->wait_value(stream, flag_.word, flag_.value);
  } catch (...) {
    workspace_->flags.release(flag_);
    throw;
  }
  held_ = true;
}

Buffers StreamOperation::prepare(bool& copied) {
  Workspace& w = *workspace_;
  std::byte* data = bytes_of(call_.recv);
  if (needs_.works != 0) {
    work_ = w.work.take(needs_.work);
    data = work_.memory;
  }
  if (layout_.sends_whole()) {
    const std::byte* const send = bytes_of(call_.send);
    return {send, needs_.works == 0 && !layout_.receives ? const_cast<std::byte*>(send) : data};
  }
  if (layout_.sends) {
    w.device->copy(data + layout_.own, bytes_of(call_.send), layout_.sent, w.compute.stream());
    copied = true;
  }
  return {data, data};
}

void StreamOperation::begin() {
  bool copied = false;
  const Buffers buffers = prepare(copied);
  Moment ready;
  if (copied) ready = {&workspace_->compute, workspace_->compute.mark()};
  state_.store(State::Running, std::memory_order_release);
  execution_->start(buffers.input, buffers.data, ready);
}

WalkShape StreamOperation::walk_shape() const {
  const std::size_t begin = layout_.result();
  WalkShape shape;
  shape.result = {begin, begin + (layout_.receives ? layout_.received : 0)};
  shape.input = layout_.sends_whole() ? 0 : layout_.own;
  const bool averages = layout_.reduces && call_.op == ReduceOp::Avg && layout_.receives;
  shape.divisor = averages ? engine_->bootstrap().size() : 1;
  return shape;
}

Walking::Call StreamOperation::walk_call() const {
  return {bytes_of(call_.send), bytes_of(call_.recv), nullptr, call_.type, call_.op, tag_};
}

void StreamOperation::walk(Stream stream, bool hold) {
  Workspace& w = *workspace_;
  Stream on = stream;
  if (!hold) {
    on = w.compute.stream();
    w.device->wait_event(on, before_->event());
  }
  auto after = std::make_shared<OwnedEvent>(w.device);
  number_ = walking_->launch(w, *list_, walk_call(), on, after);
  after_ = std::move(after);
}

bool StreamOperation::reached() const { return before_->reached(); }

bool StreamOperation::ended() const {
  return after_ != nullptr ? after_->reached() : workspace_->compute.done(mark_);
}

void StreamOperation::record(Stream stream, Deadline deadline) {
  if (walking_ == nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: the stream is being captured into a graph; expected a collective "
                            "that is one kernel, found one whose messages the host moves ({})",
                            to_string(call_.collective),
                            workspace_->walking == nullptr
                                ? "not all ranks map each other's devices"
                                : "its pieces are longer than the places for them"));
  }
  walking_->record(*workspace_, *list_, walk_call(), stream, deadline);
  state_.store(State::Done, std::memory_order_release);
}

/// Once all that was sent has left this process, answers to what was received included.
bool StreamOperation::end_if_left() {
  if (!execution_->done()) return false;
  if (!departure_.begun()) departure_.begin(engine_->transport(), program_->source->plan.peers);
  if (!departure_.over()) return false;
  end();
  return true;
}

void StreamOperation::end() {
  Workspace& w = *workspace_;
  const Stream stream = w.compute.stream();
  if (layout_.receives) {
    const std::uint32_t ranks = engine_->bootstrap().size();
    const std::size_t begin = layout_.result();
    std::byte* const recv = bytes_of(call_.recv);
    execution_->copy_untouched(begin, begin + layout_.received);
    if (needs_.works != 0) w.device->copy(recv, work_.memory + begin, layout_.received, stream);
    if (layout_.reduces && call_.op == ReduceOp::Avg && ranks > 1) {
      w.device->divide(recv, call_.count, call_.type, ranks, stream);
    }
  }
  mark_ = w.compute.mark();
  state_.store(State::Ending, std::memory_order_release);
}

bool StreamOperation::advance() {
  Workspace& w = *workspace_;
  switch (state()) {
    case State::Waiting:
      if (walking_ != nullptr && !walking_->is_oldest(number_)) return false;
      if (!reached()) return false;
      if (walking_ == nullptr) {
        begin();
      } else {
        state_.store(State::Ending, std::memory_order_release);
      }
      return true;
    case State::Running: {
      const bool polled = w.poll();
      const bool moved = execution_->advance();
      return end_if_left() || polled || moved;
    }
    case State::Ending: {
      const bool polled = w.poll();
      // Where a rank has called something else the engine finds out what, as for messages.
      if (!ended() || stranger()) return polled;
      finish(State::Done);
      return true;
    }
    case State::Done:
    case State::Failed:
      break;
  }
  return false;
}

void StreamOperation::finish(State outcome) {
  execution_.reset();
  if (after_ != nullptr) walking_->is_over(number_);
  if (work_.memory != nullptr) workspace_->work.give(work_);
  work_ = {};
  list_.reset();
  if (held_) workspace_->flags.release(flag_);
  held_ = false;
  {
    const std::scoped_lock lock(mutex_);
    state_.store(outcome, std::memory_order_release);
  }
  changed_.notify_all();
}

void StreamOperation::fail(ErrorCode code, const std::string& reason) {
  if (over()) return;
  // The stream may go on only when nothing of ours writes its buffers any more. A device that does
  // not come to rest keeps our memory; its streams are of no use to anybody then.
  const bool quiet = quiesce(*workspace_, before_.get(), after_.get());
  if (!quiet || workspace_->routes.any_mapped) bury(workspace_);
  code_ = code;
  reason_ = reason;
  finish(State::Failed);
}

std::string StreamOperation::waiting_for() const {
  switch (state()) {
    case State::Waiting:
      return "waiting for the caller's stream";
    case State::Running:
      return execution_->waiting_for();
    default:
      break;
  }
  if (const auto seat = stranger()) {
    return fmt::format("waiting for rank {}, which sends what belongs to another call", *seat);
  }
  if (walking_ == nullptr) return "waiting for the device";
  return fmt::format("waiting to finish with rank {}",
                     fmt::join(program_->source->plan.peers, ", rank "));
}

std::vector<Seat> StreamOperation::awaited_ranks() const {
  switch (state()) {
    case State::Waiting:
      return {};
    case State::Running:
      return execution_->awaited_ranks();
    default:
      break;
  }
  if (const auto seat = stranger()) return {*seat};
  return walking_ == nullptr ? std::vector<Seat>() : program_->source->plan.peers;
}

std::optional<Seat> StreamOperation::stranger() const {
  return walking_ == nullptr ? std::nullopt : walking_->stranger();
}

void StreamOperation::throw_failure() const {
  throw Error(code_, fmt::format("rank {}: {}", engine_->bootstrap().seat(), reason_));
}

bool StreamOperation::test() {
  if (state() == State::Failed) throw_failure();
  return state() == State::Done;
}

StreamRequest::~StreamRequest() {
  if (!joins_) return;
  // The peers need our part, and the device our buffers, until the end.
  while (!operation_->over()) {
    try {
      operation_->wait(deadline_);
    } catch (
        const Error&) {  // it is over, or its stream is still busy with earlier work: look again
    }
  }
}

void StreamOperation::wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto until = std::chrono::system_clock::now() + deadline;
  while (!over()) {
    // Once begun the engine sees to it that it ends; it looks by itself for the deadline.
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    if (state() != State::Waiting) until = std::chrono::system_clock::now() + deadline;
    if (!over() && std::chrono::system_clock::now() > until) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: {}: the stream has not come to it within {} ms",
                              engine_->bootstrap().seat(), name_, deadline.count()));
    }
  }
  lock.unlock();
  test();
}

}  // namespace multitree::runtime::device
