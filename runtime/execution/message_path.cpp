// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to its messages.
#include "runtime/execution/message_path_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/execution/layout_internal.hpp"
#include "runtime/execution/refined_operation_internal.hpp"
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

Rank Planned::root_of(const Call& call) const {
  const Rank usual = programs_->root_of(call.collective, root_);
  return has_root(call.collective) ? call.root.value_or(usual) : usual;
}

std::shared_ptr<const LoadedProgram> Planned::prepare(const Call& call,
                                                      const Programs::Variant* variant) {
  const auto guard = engine_->guard();
  engine_->check_usable();
  // What is tried needs no schedule of the communicator.
  if (variant == nullptr && !programs_->serves(call.collective)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("the communicator has no {} schedule", to_string(call.collective)));
  }
  const Rank usual = programs_->root_of(call.collective, root_);
  const Rank root = root_of(call);
  if (index(root) >= engine_->bootstrap().size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected a root below {}, found {}", to_string(call.collective),
                            engine_->bootstrap().size(), root));
  }
  if (variant == nullptr && !programs_->serves(call.collective, root)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{} from root {}: the communicator's schedule has root {}",
                            to_string(call.collective), root, usual));
  }
  check_buffers(call, rank_at(engine_->bootstrap().seat()), engine_->bootstrap().size(), root);
  return programs_->program_for(call, root, cut_, variant);
}

MessagePath::MessagePath(Planned planned, std::shared_ptr<Recorder> recorder,
                         std::shared_ptr<const Refining> refining)
    : planned_(std::move(planned)), recorder_(std::move(recorder)) {
  if (refining != nullptr && planned_.engine()->bootstrap().size() > 1) {
    refiner_ =
        std::make_unique<Refiner>(planned_.engine()->bootstrap().size(), std::move(refining));
  }
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

std::unique_ptr<Operation> MessagePath::start_call(const Call& call, std::uint64_t& sequence) {
  Refiner::Kind* const kind =
      refiner_ == nullptr ? nullptr : refiner_->kind_of(call, planned_.root_of(call));
  if (kind == nullptr) return Path::start_call(call, sequence);
  const auto begin = [this, &sequence](const Call& one, const Programs::Variant& variant) {
    auto program = planned_.prepare(one, &variant);
    return start(one, std::move(program), sequence++);
  };
  const auto compare = [this, begin, &sequence](const Call& sum, const Programs::Variant& variant) {
    own_calls_.push_back(sequence);
    return begin(sum, variant);
  };
  return std::make_unique<RefinedOperation>(*refiner_, *kind, call,
                                            RefinedOperation::Starts{begin, compare});
}

void MessagePath::call(const Call& call, std::uint64_t& sequence) {
  if (refiner_ == nullptr) return Path::call(call, sequence);
  start_call(call, sequence)->wait();
}

std::uint64_t MessagePath::own_calls_before(std::uint64_t sequence) const {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(own_calls_, sequence) -
                                    own_calls_.begin());
}

std::vector<Refined> MessagePath::refined() const {
  return refiner_ == nullptr ? std::vector<Refined>() : refiner_->refined();
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
