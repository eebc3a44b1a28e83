// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to its messages.
#include "runtime/execution/message_path_internal.hpp"

#include <algorithm>

#include "runtime/execution/refined_operation_internal.hpp"

namespace multitree::runtime {

MessagePath::MessagePath(Planned planned, std::shared_ptr<Recorder> recorder,
                         std::shared_ptr<const Refining> refining,
                         std::unique_ptr<Replanner> replanner)
    : planned_(std::move(planned)),
      recorder_(std::move(recorder)),
      replanner_(std::move(replanner)) {
  if (refining != nullptr && planned_.engine()->bootstrap().size() > 1) {
    refiner_ =
        std::make_unique<Refiner>(planned_.engine()->bootstrap().size(), std::move(refining));
  }
}

/// What is in force may have changed since `program` was prepared.
std::shared_ptr<const LoadedProgram> MessagePath::in_force(
    const Call& call, std::shared_ptr<const LoadedProgram> program, std::uint64_t sequence) {
  if (replanner_ == nullptr) return program;
  Planned* const other = replanner_->in_force(sequence);
  if (other != nullptr && other->serves(call)) return other->prepare_guarded(call);
  return program;
}

std::unique_ptr<Operation> MessagePath::start(const Call& call,
                                              std::shared_ptr<const LoadedProgram> program,
                                              std::uint64_t sequence) {
  const auto guard = planned_.engine()->guard();
  planned_.engine()->check_usable();
  return begin(call, in_force(call, std::move(program), sequence), sequence);
}

std::unique_ptr<MessageOperation> MessagePath::begin(const Call& call,
                                                     std::shared_ptr<const LoadedProgram> program,
                                                     std::uint64_t sequence) {
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
  operation = begin(call, in_force(call, std::move(program), sequence), sequence);
  operation->finish();
}

std::unique_ptr<Operation> MessagePath::start_call(const Call& call, std::uint64_t& sequence) {
  Refiner::Kind* const kind =
      refiner_ == nullptr ? nullptr : refiner_->kind_of(call, planned_.root_of(call));
  // What is refined are the schedules that the communicator began with.
  if (kind == nullptr || is_replanned(sequence)) return Path::start_call(call, sequence);
  const auto begin = [this, &sequence](const Call& one, const Programs::Variant& variant) {
    const auto guard = planned_.engine()->guard();
    return this->begin(one, planned_.prepare_guarded(one, &variant), sequence++);
  };
  const auto compare = [this, begin, &sequence](const Call& sum, const Programs::Variant& variant) {
    own_calls_.push_back(sequence);
    return begin(sum, variant);
  };
  return std::make_unique<RefinedOperation>(*refiner_, *kind, call,
                                            RefinedOperation::Starts{begin, compare});
}

bool MessagePath::is_replanned(std::uint64_t sequence) {
  if (replanner_ == nullptr) return false;
  const auto guard = planned_.engine()->guard();
  return replanner_->in_force(sequence) != nullptr;
}

std::string MessagePath::algorithm(Collective collective, std::uint64_t bytes) const {
  const Planned* const other = replanner_ == nullptr ? nullptr : replanner_->latest();
  return (other == nullptr ? planned_ : *other).programs().algorithm(collective, bytes);
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
