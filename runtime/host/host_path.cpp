// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to the ranks' common memory.
#include "runtime/host/host_path_internal.hpp"

#include <fmt/format.h>

#include <optional>

#include "runtime/execution/layout_internal.hpp"
#include "runtime/host/host_request_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {

HostPath::HostPath(std::shared_ptr<Engine> engine, std::unique_ptr<Group> group,
                   std::shared_ptr<const Programs> programs, const CommunicatorOptions& options)
    : engine_(std::move(engine)),
      group_(std::move(group)),
      programs_(std::move(programs)),
      recorder_(options.recorder),
      root_(options.root),
      timeout_(options.timeout) {}

std::shared_ptr<const LoadedProgram> HostPath::prepare(const Call& call) {
  const auto guard = engine_->guard();
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
  const auto guard = engine_->guard();
  engine_->check_usable();
  auto request = std::make_unique<HostRequest>(engine_, *group_, call, root_of(call), sequence,
                                               recorder_.get());
  request->enlist();
  engine_->poll();
  return request;
}

void HostPath::run(const Call& call, std::shared_ptr<const LoadedProgram>, std::uint64_t sequence) {
  std::optional<HostRequest> request;  // let go without the guard, which it takes itself
  const auto guard = engine_->guard();
  engine_->check_usable();
  request.emplace(engine_, *group_, call, root_of(call), sequence, recorder_.get()).finish();
}

void HostPath::barrier(std::uint64_t& sequence) {
  {
    const auto guard = engine_->guard();
    engine_->wait_all();
  }
  const Call nothing{Collective::AllReduce, nullptr, nullptr, 0, DataType::Uint8};
  run(nothing, prepare(nothing), sequence++);
}

void* HostPath::allocate(std::size_t bytes) {
  const auto guard = engine_->guard();
  try {
    return group_->allocate(engine_->bootstrap(), bytes, timeout_);
  } catch (const Error& error) {
    // Without memory the ranks go on; after anything else they are out of step.
    if (error.code() != ErrorCode::Io) engine_->give_up(fmt::format("allocate: {}", error.what()));
    throw;
  }
}

}  // namespace multitree::runtime::host
