// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to the ranks' common memory.
#include "runtime/host/host_path_internal.hpp"

#include <fmt/format.h>

#include "runtime/exchange/moves_internal.hpp"
#include "runtime/execution/layout_internal.hpp"
#include "runtime/execution/recording_internal.hpp"
#include "runtime/host/card_operation_internal.hpp"
#include "runtime/host/operation_internal.hpp"
#include "runtime/host/packed_exchange_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Vectors up to this, of all ranks, are over so soon that nobody need be let in between.
constexpr std::uint64_t kShortBytes = 256 * 1024;

/// What needs no engine of an exchange.
class CardPart {
 public:
  explicit CardPart(PackedExchange& exchange) : exchange_(exchange) {}
  bool advance() { return exchange_.advance(); }
  [[nodiscard]] bool done() const { return exchange_.has_read(); }

 private:
  PackedExchange& exchange_;
};

}  // namespace

HostPath::HostPath(std::shared_ptr<Engine> engine, std::shared_ptr<Group> group,
                   std::shared_ptr<const Programs> programs, const CommunicatorOptions& options)
    : engine_(std::move(engine)),
      group_(std::move(group)),
      programs_(std::move(programs)),
      recorder_(options.recorder),
      root_(options.root),
      timeout_(options.timeout) {}

void HostPath::check(const Call& call) {
  engine_->check_usable();
  if (call.root && index(*call.root) >= group_->size()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("root {} of {} ranks: expected less",
                                                        index(*call.root), group_->size()));
  }
  check_buffers(call, rank_at(group_->self()), group_->size(), root_of(call));
}

std::shared_ptr<const LoadedProgram> HostPath::prepare(const Call& call) {
  const auto guard = engine_->guard();
  check(call);
  return nullptr;
}

std::unique_ptr<Operation> HostPath::start(const Call& call, std::shared_ptr<const LoadedProgram>,
                                           std::uint64_t sequence) {
  const auto guard = engine_->guard();
  engine_->check_usable();
  const Rank root = root_of(call);
  auto request = request_of(call, common_call(call, root), root, sequence);
  engine_->poll();
  return request;
}

void HostPath::call(const Call& call, std::uint64_t& sequence) {
  const auto guard = engine_->guard();
  check(call);
  engine_->look_after_others();
  finish(call, sequence++);
}

void HostPath::finish(const Call& call, std::uint64_t sequence) {
  const Rank root = root_of(call);
  Recorder* const recorder = active(recorder_.get());
  const CommonCall common = common_call(call, root);
  Patience& patience = group_->patience();
  if (fits_cards(*group_, call)) {
    CardOperation operation(*group_, call, common, root, recorder);
    if (advance_shortly(operation, patience)) return;
    Attendance(*engine_, operation, common, sequence, patience).see_through();
  } else {
    HostOperation operation(*group_, call, common, root, recorder);
    Attendance(*engine_, operation, common, sequence, patience).finish();
  }
}

std::unique_ptr<Operation> HostPath::start_call(const Call& call, std::uint64_t& sequence) {
  const auto guard = engine_->guard();
  check(call);
  engine_->look_after_others();
  const Rank root = root_of(call);
  const CommonCall common = common_call(call, root);
  const std::uint64_t number = sequence++;
  if (fits_cards(*group_, call)) {
    CardOperation operation(*group_, call, common, root, active(recorder_.get()));
    if (advance_shortly(operation, group_->patience())) return nullptr;
    return request_of(std::make_unique<CardOperation>(std::move(operation)), common, number);
  }
  auto request = request_of(call, common, root, number);
  if (elements_of(call, group_->size()) * size_of(call.type) <= kShortBytes) {
    request->finish_shortly();
  } else {
    engine_->poll();
  }
  return request;
}

std::unique_ptr<HostRequest> HostPath::request_of(const Call& call, const CommonCall& common,
                                                  Rank root, std::uint64_t sequence) {
  Recorder* const recorder = active(recorder_.get());
  std::unique_ptr<Activity> operation;
  if (fits_cards(*group_, call)) {
    operation = std::make_unique<CardOperation>(*group_, call, common, root, recorder);
  } else {
    operation = std::make_unique<HostOperation>(*group_, call, common, root, recorder);
  }
  return request_of(std::move(operation), common, sequence);
}

std::unique_ptr<HostRequest> HostPath::request_of(std::unique_ptr<Activity> operation,
                                                  const CommonCall& common,
                                                  std::uint64_t sequence) {
  return std::make_unique<HostRequest>(engine_, std::move(operation), common, sequence,
                                       group_->patience());
}

void HostPath::barrier(std::uint64_t& sequence) {
  const auto guard = engine_->guard();
  engine_->wait_all();
  const Call nothing{Collective::AllReduce, nullptr, nullptr, 0, DataType::Uint8};
  check(nothing);
  finish(nothing, sequence++);
}

/// An all-gather in which each takes its own share of everybody's.
std::unique_ptr<Operation> HostPath::all_to_all(const ExchangeCall& call, std::uint64_t sequence,
                                                bool attended) {
  const Call gather{Collective::AllGather, call.send, call.recv, call.sent.count(0), call.type};
  const CommonCall common = common_call(call);
  if (attended && fits_cards(*group_, gather)) {
    CardOperation operation(*group_, gather, common, Rank{0}, active(recorder_.get()));
    if (advance_shortly(operation, group_->patience())) return nullptr;
    return request_of(std::make_unique<CardOperation>(std::move(operation)), common, sequence);
  }
  return request_of(gather, common, Rank{0}, sequence);
}

std::unique_ptr<Operation> HostPath::exchange(const ExchangeCall& call, Moves&& moves,
                                              std::uint32_t number, std::uint64_t sequence,
                                              bool attended) {
  engine_->look_after_others();
  std::unique_ptr<Operation> request;
  if (call.exchange == Exchange::AllToAll) {
    request = all_to_all(call, sequence, attended);
  } else {
    auto operation = std::make_unique<PackedExchange>(*group_, *engine_, call, std::move(moves),
                                                      number, active(recorder_.get()));
    CardPart cards(*operation);
    const bool read =
        attended && !operation->has_messages() && advance_shortly(cards, group_->patience());
    if (read && operation->done()) return nullptr;
    request = request_of(std::move(operation), common_call(call), sequence);
  }
  if (request != nullptr) engine_->poll();
  return request;
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
