// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to the ranks' common memory.
#include "runtime/host/host_path_internal.hpp"

#include <fmt/format.h>

#include "runtime/exchange/moves_internal.hpp"
#include "runtime/execution/layout_internal.hpp"
#include "runtime/host/host_request_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {

HostPath::HostPath(std::shared_ptr<Engine> engine, std::shared_ptr<Group> group,
                   std::shared_ptr<const Programs> programs, const CommunicatorOptions& options)
    : engine_(std::move(engine)),
      group_(std::move(group)),
      programs_(std::move(programs)),
      recorder_(options.recorder),
      root_(options.root),
      timeout_(options.timeout) {}

std::shared_ptr<const LoadedProgram> HostPath::prepare(const Call& call) {
  engine_->check_usable();
  if (call.root && index(*call.root) >= group_->size()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("root {} of {} ranks: expected less",
                                                        index(*call.root), group_->size()));
  }
  check_buffers(call, rank_at(group_->self()), group_->size(), root_of(call));
  return nullptr;
}

std::unique_ptr<Operation> HostPath::start(const Call& call, std::shared_ptr<const LoadedProgram>,
                                           std::uint64_t sequence) {
  engine_->check_usable();
  auto request = std::make_unique<HostRequest>(engine_, *group_, call, root_of(call), sequence,
                                               recorder_.get());
  request->enlist();
  engine_->poll();
  return request;
}

void HostPath::run(const Call& call, std::shared_ptr<const LoadedProgram>, std::uint64_t sequence) {
  engine_->check_usable();
  HostRequest(engine_, *group_, call, root_of(call), sequence, recorder_.get()).wait();
}

void HostPath::barrier(std::uint64_t& sequence) {
  engine_->wait_all();
  const Call nothing{Collective::AllReduce, nullptr, nullptr, 0, DataType::Uint8};
  run(nothing, prepare(nothing), sequence++);
}

/// A collective of nothing: on its card is the call.
std::unique_ptr<Operation> HostPath::agree_on(const CommonCall& call, std::uint64_t sequence) {
  const Call nothing{Collective::AllReduce, nullptr, nullptr, 0, call.type};
  auto request =
      std::make_unique<HostRequest>(engine_, *group_, nothing, Rank{0}, sequence, nullptr, call);
  request->enlist();
  return request;
}

std::unique_ptr<Operation> HostPath::all_to_all(const ExchangeCall& call, std::uint64_t sequence) {
  const Call gather{Collective::AllGather, call.send, call.recv, call.sent.counts.front(),
                    call.type};
  auto request = std::make_unique<HostRequest>(engine_, *group_, gather, Rank{0}, sequence, nullptr,
                                               common_call(call));
  request->enlist();
  engine_->poll();
  return request;
}

void* HostPath::allocate(std::size_t bytes) {
  try {
    return group_->allocate(engine_->bootstrap(), bytes, timeout_);
  } catch (const Error& error) {
    // Without memory the ranks go on; after anything else they are out of step.
    if (error.code() != ErrorCode::Io) engine_->give_up(fmt::format("allocate: {}", error.what()));
    throw;
  }
}

}  // namespace multitree::runtime::host
