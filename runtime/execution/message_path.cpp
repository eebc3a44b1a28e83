// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to its messages.
#include "runtime/execution/message_path_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/execution/layout_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

Planned::Planned(std::shared_ptr<Engine> engine, std::shared_ptr<Programs> programs,
                 const CommunicatorOptions& options)
    : engine_(std::move(engine)), programs_(std::move(programs)), root_(options.root) {
  const TransportLimits limits = engine_->transport().limits();
  cut_ = {.segment_bytes = std::min(options.segment_bytes, limits.segment_bytes),
          .window_bytes = limits.window_bytes,
          .merge_bytes = limits.merge_bytes};
}

std::shared_ptr<const LoadedProgram> Planned::prepare(const Call& call) {
  const auto guard = engine_->guard();
  engine_->check_usable();
  if (!programs_->serves(call.collective)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("the communicator has no {} schedule", to_string(call.collective)));
  }
  const Rank usual = programs_->root_of(call.collective, root_);
  const Rank root = has_root(call.collective) ? call.root.value_or(usual) : usual;
  if (index(root) >= engine_->bootstrap().size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected a root below {}, found {}", to_string(call.collective),
                            engine_->bootstrap().size(), root));
  }
  if (!programs_->serves(call.collective, root)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{} from root {}: the communicator's schedule has root {}",
                            to_string(call.collective), root, usual));
  }
  check_buffers(call, rank_at(engine_->bootstrap().seat()), engine_->bootstrap().size(), root);
  return programs_->program_for(call, root, cut_);
}

std::unique_ptr<Operation> MessagePath::start(const Call& call,
                                              std::shared_ptr<const LoadedProgram> program,
                                              std::uint64_t sequence) {
  const auto guard = planned_.engine()->guard();
  planned_.engine()->check_usable();
  auto operation = std::make_unique<MessageOperation>(planned_.engine(), std::move(program), call,
                                                      sequence, recorder_.get());
  operation->start();
  return operation;
}

void MessagePath::run(const Call& call, std::shared_ptr<const LoadedProgram> program,
                      std::uint64_t sequence) {
  std::unique_ptr<MessageOperation> operation;  // let go without the guard, which it takes itself
  const auto guard = planned_.engine()->guard();
  planned_.engine()->check_usable();
  operation = std::make_unique<MessageOperation>(planned_.engine(), std::move(program), call,
                                                 sequence, recorder_.get());
  operation->start();
  operation->finish();
}

void MessagePath::barrier(std::uint64_t&) {
  const auto guard = planned_.engine()->guard();
  planned_.engine()->barrier();
}

void* MessagePath::allocate(std::size_t bytes) {
  memory_.push_back(host::Mapping::create_private(bytes));
  return memory_.back()->data();
}

bool MessagePath::deallocate(void* memory) {
  return std::erase_if(memory_, [&](const auto& one) { return one->data() == memory; }) != 0;
}

std::shared_ptr<const void> MessagePath::hold(const void* memory) const {
  const auto found =
      std::ranges::find_if(memory_, [&](const auto& mapping) { return mapping->data() == memory; });
  return found == memory_.end() ? nullptr : *found;
}

}  // namespace multitree::runtime
