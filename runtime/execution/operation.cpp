// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The life of a collective, from the user's buffers and back.
#include "runtime/execution/operation_internal.hpp"

#include <cstring>

#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"
#include "topologies/exception_words.hpp"

namespace multitree::runtime {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes != 0 && to != from) std::memcpy(to, from, bytes);
}

}  // namespace

SharedCall shared_call(const Call& call, const LoadedProgram& loaded) {
  return {common_call(call, loaded.source->schedule.root), loaded.digest};
}

MessageOperation::MessageOperation(std::shared_ptr<Engine> engine,
                                   std::shared_ptr<const LoadedProgram> program, const Call& call,
                                   std::uint64_t sequence, Recorder* recorder)
    : engine_(std::move(engine)),
      program_(std::move(program)),
      call_(call),
      layout_(layout_of(call, rank_at(engine_->bootstrap().seat()), engine_->bootstrap().size(),
                        program_->source->schedule.root)) {
  const SharedCall shared = shared_call(call, *program_);
  const Execution::Context context{engine_->transport(),
                                   engine_->outbox(),
                                   engine_->scratch(),
                                   tag_of(sequence, Memory::Host, shared),
                                   call.type,
                                   call.op,
                                   call_.function(),
                                   active(recorder),
                                   {urgency_of(layout_.whole), call.priority, sequence}};
  const Buffers buffers = prepare();
  execution_ = std::make_unique<Execution>(program_->program, buffers.input, buffers.data, context);
  engine_->add({execution_.get(), to_string(call.collective), sequence}, shared,
               program_->program.receives);
}

MessageOperation::~MessageOperation() {
  if (execution_ == nullptr) return;
  const auto guard = engine_->guard();
  release();
}

void MessageOperation::start() {
  try {
    execution_->start();
  } catch (const Error& error) {
    engine_->fail_in(*execution_, error);
  } catch (const std::bad_alloc& error) {
    engine_->fail_in(*execution_, Error(ErrorCode::Io, plain_words(error)));
  }
  if (execution_->done()) complete();
}

Buffers MessageOperation::prepare() {
  std::byte* data = bytes_of(call_.recv);
  if (!layout_.works_in_recv()) {
    work_ = engine_->work().take(layout_.whole);
    data = work_.data.get();
  }
  if (layout_.sends_whole()) return {bytes_of(call_.send), data};
  if (layout_.sends) copy_bytes(data + layout_.own, bytes_of(call_.send), layout_.sent);
  return {data, data};
}

void MessageOperation::complete() {
  if (layout_.receives) {
    const std::size_t begin = layout_.result();
    execution_->copy_untouched(begin, begin + layout_.received);
    std::byte* const recv = bytes_of(call_.recv);
    if (!layout_.works_in_recv()) copy_bytes(recv, work_.data.get() + begin, layout_.received);
    if (layout_.reduces) {
      finish_reduction(recv, call_.count, call_.type, call_.op, engine_->bootstrap().size());
    }
  }
  release();
}

void MessageOperation::release() {
  if (execution_ == nullptr) return;
  if (!execution_->done()) {
    // Dropped. The peers need our part, and the transport our buffers, until the end.
    try {
      engine_->wait(*execution_);
    } catch (
        const std::exception&) {  // the communicator is unusable from here on and says so when used
    }
  }
  engine_->remove(*execution_);
  execution_.reset();
  if (work_.data != nullptr) engine_->work().give(std::move(work_));
}

bool MessageOperation::test() {
  if (execution_ == nullptr) return true;
  engine_->attend();
  const auto guard = engine_->guard();
  if (!execution_->done()) engine_->poll();
  if (!execution_->done()) return false;
  complete();
  return true;
}

void MessageOperation::wait() {
  if (execution_ == nullptr) return;
  const auto guard = engine_->guard();
  finish();
}

void MessageOperation::finish() {
  if (execution_ == nullptr) return;
  engine_->wait(*execution_);
  complete();
}

}  // namespace multitree::runtime
