// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What users call: collectives by name, requests, memory.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/communicator_internal.hpp"
#include "runtime/host/mapping_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

Request::Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept = default;
Request::~Request() = default;
bool Request::test() { return operation_ == nullptr || operation_->test(); }
void Request::wait() {
  if (operation_ != nullptr) operation_->wait();
}

struct Prepared::State {
  Call call;
  std::shared_ptr<const LoadedProgram> program;
};
Prepared::Prepared() = default;
Prepared::Prepared(Prepared&&) noexcept = default;
Prepared& Prepared::operator=(Prepared&&) noexcept = default;
Prepared::~Prepared() = default;

std::uint32_t Communicator::rank() const { return impl_->engine->bootstrap().rank(); }
std::uint32_t Communicator::size() const { return impl_->engine->bootstrap().size(); }
std::string Communicator::describe() const { return impl_->description; }
std::shared_ptr<Bootstrap> Communicator::bootstrap() const { return impl_->engine->job(); }

std::uint64_t Communicator::finished_before() const { return impl_->finished_before; }

std::string Communicator::failure() const {
  const auto guard = impl_->engine->guard();
  return impl_->engine->broken();
}

void Communicator::abort(const std::string& reason) {
  const auto guard = impl_->engine->guard();
  impl_->engine->give_up(reason);
}

namespace {

Call call_of(Collective collective, const void* send, void* recv, std::size_t count, DataType type,
             ReduceOp op = ReduceOp::Sum) {
  return {
      collective, static_cast<const std::byte*>(send), static_cast<std::byte*>(recv), count, type,
      op};
}

}  // namespace

Prepared Communicator::prepare(Collective collective, const void* send, void* recv,
                               std::size_t count, DataType type, ReduceOp op) {
  const Call call = call_of(collective, send, recv, count, type, op);
  {
    const auto guard = impl_->engine->guard();
    impl_->engine->check_usable();
  }
  static_cast<void>(impl_->on_device(call));
  impl_->validate(call);
  Prepared prepared;
  prepared.state_ = std::make_shared<const Prepared::State>(
      Prepared::State{call, impl_->group == nullptr ? impl_->program_for(call) : nullptr});
  return prepared;
}

Request Communicator::start(const Prepared& prepared) {
  return impl_->start(prepared.state_->call, prepared.state_->program);
}

bool Communicator::on_one_host() const { return impl_->group != nullptr; }

std::string Communicator::algorithm(Collective collective, std::uint64_t bytes) const {
  if (on_one_host()) return "host";
  const auto& sized = impl_->schedules[static_cast<std::size_t>(collective)];
  const auto found = std::ranges::lower_bound(sized, bytes, {}, &SizedLoaded::max_bytes);
  return found == sized.end() ? std::string() : found->loaded->schedule.algorithm;
}

void Communicator::barrier() {
  if (impl_->group == nullptr) {
    const auto guard = impl_->engine->guard();
    return impl_->engine->barrier();
  }
  impl_->engine->wait_all();
  impl_->run({Collective::AllReduce, nullptr, nullptr, 0, DataType::Uint8});
}

void* Communicator::allocate(std::size_t bytes) {
  Engine& engine = *impl_->engine;
  {
    const auto guard = engine.guard();
    engine.check_usable();
  }
  if (impl_->group == nullptr) {
    impl_->plain_memory.push_back(host::Mapping::create_private(bytes));
    return impl_->plain_memory.back()->data();
  }
  try {
    return impl_->group->allocate(engine.bootstrap(), bytes, impl_->options.timeout);
  } catch (const Error& error) {
    // Without memory the ranks go on; after anything else they are out of step.
    if (error.code() != ErrorCode::Io) engine.give_up(fmt::format("allocate: {}", error.what()));
    throw;
  }
}

void Communicator::deallocate(void* memory) {
  {
    const auto guard = impl_->engine->guard();
    impl_->engine->wait_all();
  }
  const bool shared = impl_->group != nullptr && impl_->group->deallocate(memory);
  const auto plain =
      std::erase_if(impl_->plain_memory, [&](const auto& one) { return one->data() == memory; });
  if (!shared && plain == 0) {
    throw Error(ErrorCode::InvalidArgument,
                "deallocate: expected memory of allocate(), got another address");
  }
}

std::shared_ptr<const void> Communicator::hold(const void* memory) const {
  if (impl_->group != nullptr) {
    if (auto mapping = impl_->group->owner(memory)) return mapping;
  }
  for (const auto& mapping : impl_->plain_memory) {
    if (mapping->data() == memory) return mapping;
  }
  throw Error(ErrorCode::InvalidArgument,
              "hold: expected memory of allocate(), got another address");
}

Request Communicator::start_all_reduce(const void* send, void* recv, std::size_t count,
                                       DataType type, ReduceOp op) {
  return impl_->start(call_of(Collective::AllReduce, send, recv, count, type, op));
}

Request Communicator::start_reduce_scatter(const void* send, void* recv, std::size_t count,
                                           DataType type, ReduceOp op) {
  return impl_->start(call_of(Collective::ReduceScatter, send, recv, count, type, op));
}

Request Communicator::start_all_gather(const void* send, void* recv, std::size_t count,
                                       DataType type) {
  return impl_->start(call_of(Collective::AllGather, send, recv, count, type));
}

Request Communicator::start_broadcast(const void* send, void* recv, std::size_t count,
                                      DataType type) {
  return impl_->start(call_of(Collective::Broadcast, send, recv, count, type));
}

Request Communicator::start_reduce(const void* send, void* recv, std::size_t count, DataType type,
                                   ReduceOp op) {
  return impl_->start(call_of(Collective::Reduce, send, recv, count, type, op));
}

Request Communicator::start_all_reduce(const void* send, void* recv, std::size_t count,
                                       DataType type, ReduceOp op, Stream stream) {
  return impl_->start(call_of(Collective::AllReduce, send, recv, count, type, op), stream);
}

Request Communicator::start_reduce_scatter(const void* send, void* recv, std::size_t count,
                                           DataType type, ReduceOp op, Stream stream) {
  return impl_->start(call_of(Collective::ReduceScatter, send, recv, count, type, op), stream);
}

Request Communicator::start_all_gather(const void* send, void* recv, std::size_t count,
                                       DataType type, Stream stream) {
  return impl_->start(call_of(Collective::AllGather, send, recv, count, type), stream);
}

Request Communicator::start_broadcast(const void* send, void* recv, std::size_t count,
                                      DataType type, Stream stream) {
  return impl_->start(call_of(Collective::Broadcast, send, recv, count, type), stream);
}

Request Communicator::start_reduce(const void* send, void* recv, std::size_t count, DataType type,
                                   ReduceOp op, Stream stream) {
  return impl_->start(call_of(Collective::Reduce, send, recv, count, type, op), stream);
}

void Communicator::all_reduce(const void* send, void* recv, std::size_t count, DataType type,
                              ReduceOp op) {
  impl_->run(call_of(Collective::AllReduce, send, recv, count, type, op));
}
void Communicator::reduce_scatter(const void* send, void* recv, std::size_t count, DataType type,
                                  ReduceOp op) {
  impl_->run(call_of(Collective::ReduceScatter, send, recv, count, type, op));
}
void Communicator::all_gather(const void* send, void* recv, std::size_t count, DataType type) {
  impl_->run(call_of(Collective::AllGather, send, recv, count, type));
}
void Communicator::broadcast(const void* send, void* recv, std::size_t count, DataType type) {
  impl_->run(call_of(Collective::Broadcast, send, recv, count, type));
}
void Communicator::reduce(const void* send, void* recv, std::size_t count, DataType type,
                          ReduceOp op) {
  impl_->run(call_of(Collective::Reduce, send, recv, count, type, op));
}

}  // namespace multitree::runtime
