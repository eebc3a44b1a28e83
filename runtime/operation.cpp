// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The life of a collective, from the user's buffers and back.
#include "runtime/operation_internal.hpp"

#include <cstring>

#include "runtime/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace

MessageOperation::MessageOperation(std::shared_ptr<Engine> engine,
                                   std::shared_ptr<const LoadedProgram> program, const Call& call,
                                   std::uint64_t sequence, Recorder* recorder)
    : engine_(std::move(engine)), program_(std::move(program)), call_(call) {
  const Execution::Context context{
      engine_->transport(), engine_->scratch(), tag_of(sequence, Memory::Host), call.type, call.op,
      active(recorder)};
  const Buffers buffers = prepare();
  execution_ = std::make_unique<Execution>(program_->program, buffers.input, buffers.data, context);
  engine_->add({execution_.get(), to_string(call.collective), sequence});
}

MessageOperation::~MessageOperation() {
  if (execution_ == nullptr) return;
  const auto guard = engine_->guard();
  release();
}

void MessageOperation::start() {
  execution_->start();
  if (execution_->done()) complete();
}

Buffers MessageOperation::prepare() {
  const std::uint32_t rank = engine_->bootstrap().rank();
  const std::size_t bytes = call_.count * size_of(call_.type);
  const bool root = rank == index(program_->source->schedule.root);
  switch (call_.collective) {
    case Collective::AllReduce:
      ending_ = {.begin = 0, .end = bytes, .copy_from = nullptr, .finish = true};
      return {call_.send, call_.recv};
    case Collective::Broadcast:
      if (root) copy(call_.recv, call_.send, bytes);
      return {call_.recv, call_.recv};
    case Collective::AllGather:
      copy(call_.recv + rank * bytes, call_.send, bytes);
      return {call_.recv, call_.recv};
    case Collective::Reduce:
      if (root) {
        ending_ = {.begin = 0, .end = bytes, .copy_from = nullptr, .finish = true};
        return {call_.send, call_.recv};
      }
      work_ = engine_->work().take(bytes);
      return {call_.send, work_.data.get()};
    case Collective::ReduceScatter:
      break;
  }
  work_ = engine_->work().take(bytes * engine_->bootstrap().size());
  std::byte* const shard = work_.data.get() + rank * bytes;
  ending_ = {.begin = rank * bytes, .end = (rank + 1) * bytes, .copy_from = shard, .finish = true};
  return {call_.send, work_.data.get()};
}

void MessageOperation::complete() {
  execution_->copy_untouched(ending_.begin, ending_.end);
  if (ending_.copy_from != nullptr) {
    copy(call_.recv, ending_.copy_from, call_.count * size_of(call_.type));
  }
  if (ending_.finish) {
    finish_reduction(call_.recv, call_.count, call_.type, call_.op, engine_->bootstrap().size());
  }
  release();
}

void MessageOperation::release() {
  if (execution_ == nullptr) return;
  if (!execution_->done()) {
    // Dropped. The peers need our part, and the transport our buffers, until the end.
    try {
      engine_->wait(*execution_);
    } catch (const Error&) {  // the communicator is unusable from here on and says so when used
    }
  }
  engine_->remove(*execution_);
  execution_.reset();
  if (work_.data != nullptr) engine_->work().give(std::move(work_));
}

bool MessageOperation::test() {
  if (execution_ == nullptr) return true;
  const auto guard = engine_->guard();
  if (!execution_->done()) engine_->poll();
  if (!execution_->done()) return false;
  complete();
  return true;
}

void MessageOperation::wait() {
  if (execution_ == nullptr) return;
  const auto guard = engine_->guard();
  engine_->wait(*execution_);
  complete();
}

}  // namespace multitree::runtime
