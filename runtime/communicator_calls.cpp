// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What users call: collectives by name, requests, memory.
#include <fmt/format.h>

#include "runtime/communicator_internal.hpp"
#include "runtime/device/device.hpp"
#include "runtime/exchange/moves_internal.hpp"
#include "runtime/execution/custom_op_internal.hpp"
#include "runtime/execution/exact_sum_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Who moves on what was started; where nobody does until the caller comes back, at least its first
/// messages leave now.
void set_off(Engine& engine, const ProgressChoice& progress, bool by_messages) {
  engine.progress_while_away(progress);
  if (progress.on || !by_messages) return;
  const auto guard = engine.guard();
  engine.look_after_others();
}

}  // namespace

Request::Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;
Request::~Request() = default;
bool Request::test() {
  const bool over = operation_ == nullptr || operation_->test();
  if (over) note_end();
  return over;
}
void Request::wait() {
  if (operation_ != nullptr) operation_->wait();
  note_end();
}
void Request::note_end() const {
  if (const auto record = record_.lock()) record->end(number_);
}

struct Prepared::State {
  Call call;
  Path* path = nullptr;  ///< of the communicator that prepared it
  std::shared_ptr<const LoadedProgram> program;
};
Prepared::Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

Rank Communicator::rank() const { return rank_at(impl_->engine->bootstrap().seat()); }
std::uint32_t Communicator::size() const { return impl_->engine->bootstrap().size(); }
std::string Communicator::describe() const { return impl_->description; }
bool Communicator::looks_through() const { return impl_->looks_through; }
std::shared_ptr<Bootstrap> Communicator::bootstrap() const { return impl_->engine->job(); }

std::uint64_t Communicator::finished_before() const { return impl_->finished_before; }

std::string Communicator::failure() const {
  const auto guard = impl_->engine->guard();
  return impl_->engine->broken();
}

void Communicator::abort(const std::string& reason) {
  if (impl_->engine->forked()) return;  // the job is another process's
  const auto guard = impl_->engine->guard();
  impl_->engine->give_up(reason);
}

void Communicator::run(const Call& call) {
  impl_->engine->use();
  Path& path = impl_->path_of(call);
  if (call.custom != nullptr || is_exact_sum(call)) return start(call).wait();
  if (impl_->looks_through && &path == impl_->host.get()) impl_->look_through(call);
  if (impl_->record == nullptr) return path.call(call, impl_->sequence);
  const std::uint64_t number = impl_->sequence;
  impl_->note(call);
  path.call(call, impl_->sequence);
  impl_->record->end(number);
}

Request Communicator::start(const Call& call) { return start(prepare(call)); }

Request Communicator::start(const Call& call, Stream stream) {
  if (impl_->device == nullptr) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: a stream, but the communicator has no device",
                            to_string(call.collective)));
  }
  check_operator(call);
  Impl::check_wire(call, true);
  Impl::check_summing(call, true);
  impl_->device->check_streamed(call);
  auto program = impl_->device->prepare(call);
  Request request = impl_->noted(call);
  request.operation_ =
      impl_->device->start_in_order(call, std::move(program), impl_->sequence++, stream.handle);
  return request;
}

StreamOrder Communicator::order_on(Stream stream) const {
  return impl_->device == nullptr ? StreamOrder::Waits : impl_->device->order_on(stream.handle);
}

Prepared Communicator::prepare(const Call& call) {
  Path& path = impl_->path_of(call);
  Prepared prepared;
  prepared.state_ =
      std::make_shared<const Prepared::State>(Prepared::State{call, &path, path.prepare(call)});
  return prepared;
}

Request Communicator::start(const Prepared& prepared) {
  Request request = start_attended(prepared);
  if (prepared.state_->path == impl_->host.get())
    set_off(*impl_->engine, impl_->progress, !on_one_host());
  return request;
}

Request Communicator::start_attended(const Prepared& prepared) {
  impl_->engine->use();
  const Prepared::State& state = *prepared.state_;
  impl_->check_usable();
  if (impl_->looks_through && state.path == impl_->host.get()) impl_->look_through(state.call);
  Request request = impl_->noted(state.call);
  request.operation_ = impl_->start(state.call, *state.path, state.program);
  return request;
}

void Communicator::Impl::note(const Call& call) const {
  record->begin(sequence, common_call(call, host->root_of(call)));
}

Request Communicator::Impl::noted(const Call& call) const {
  Request request;
  if (record == nullptr) return request;
  note(call);
  request.record_ = record;
  request.number_ = sequence;
  return request;
}

Request Communicator::Impl::noted(const ExchangeCall& call) const {
  Request request;
  if (record == nullptr || !is_collective(call.exchange)) return request;
  record->begin(sequence, common_call(call));
  request.record_ = record;
  request.number_ = sequence;
  return request;
}

Request Communicator::start_run(const Call& call) {
  impl_->engine->use();
  Path& path = impl_->path_of(call);
  if (call.custom != nullptr || is_exact_sum(call)) return start_attended(prepare(call));
  impl_->check_usable();
  if (impl_->looks_through && &path == impl_->host.get()) impl_->look_through(call);
  Request request = impl_->noted(call);
  request.operation_ = path.start_call(call, impl_->sequence);
  if (request.operation_ == nullptr) request.note_end();
  return request;
}

void Communicator::Impl::check(const ExchangeCall& call) const {
  if (reduces(call.exchange)) {
    check_operator({.collective = Collective::ReduceScatter, .type = call.type, .op = call.op});
  }
  if (options.device == nullptr) return;
  for (const void* const buffer : {call.send, static_cast<const void*>(call.recv)}) {
    if (buffer == nullptr || options.device->locate(buffer).place != device::Place::Device)
      continue;
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected host memory, found memory of the device",
                            to_string(call.exchange)));
  }
}

void Communicator::check(const ExchangeCall& call) const {
  impl_->exchanges->check(call);
  impl_->check(call);
}

Request Communicator::start(const ExchangeCall& call) {
  Request request = start_attended(call);
  if (request.operation_ != nullptr && is_long(call))
    set_off(*impl_->engine, impl_->progress, !on_one_host());
  return request;
}

Request Communicator::start_attended(const ExchangeCall& call) {
  impl_->engine->use();
  impl_->check(call);
  if (impl_->looks_through) impl_->look_through(call);
  Request request = impl_->noted(call);
  request.operation_ = impl_->exchanges->start(call, impl_->sequence, false);
  return request;
}

Request Communicator::start_run(const ExchangeCall& call) {
  impl_->engine->use();
  impl_->check(call);
  if (impl_->exchanges->finish_shortly(call)) return {};
  if (impl_->looks_through) impl_->look_through(call);
  Request request = impl_->noted(call);
  request.operation_ = impl_->exchanges->start(call, impl_->sequence, true);
  return request;
}

std::optional<Rank> Communicator::probe(const ExchangeCall& call) {
  impl_->engine->use();
  return impl_->exchanges->probe(call);
}

std::function<void(std::chrono::microseconds)> Communicator::poll_or_nap() {
  impl_->engine->attend();
  const auto guard = impl_->engine->guard();
  return impl_->engine->poll_or_nap();
}

bool Communicator::on_one_host() const { return !impl_->host->sends_messages(); }

std::string Communicator::algorithm(Collective collective, std::uint64_t bytes) const {
  return impl_->host->algorithm(collective, bytes);
}

std::vector<Refined> Communicator::refined() const { return impl_->host->refined(); }

void Communicator::barrier() { impl_->host->barrier(impl_->sequence); }

void* Communicator::allocate(std::size_t bytes) {
  impl_->check_usable();
  return impl_->host->allocate(bytes);
}

void Communicator::deallocate(void* memory) {
  {
    const auto guard = impl_->engine->guard();
    impl_->engine->wait_all();
  }
  if (impl_->host->deallocate(memory)) return;
  throw Error(ErrorCode::InvalidArgument,
              "deallocate: expected memory of allocate(), got another address");
}

std::shared_ptr<const void> Communicator::hold(const void* memory) const {
  if (auto held = impl_->host->hold(memory)) return held;
  throw Error(ErrorCode::InvalidArgument,
              "hold: expected memory of allocate(), got another address");
}

}  // namespace multitree::runtime
