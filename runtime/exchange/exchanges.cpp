// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Starting exchanges, and their endings.
#include "runtime/exchange/exchanges_internal.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// An exchange between ranks, behind a Request.
class TrafficOperation final : public Operation {
 public:
  TrafficOperation(std::shared_ptr<Engine> engine, const ExchangeCall& call, const Moves& moves)
      : engine_(std::move(engine)), call_(call), own_(moves.own), own_to_(moves.own_to) {
    const bool sums = reduces(call.exchange);
    traffic_ = std::make_unique<Traffic>(
        engine_->transport(), engine_->work(), engine_->bootstrap().seat(),
        Traffic::Sum{sums && own_.bytes != 0 ? own_to_ : nullptr, call.type, call.op});
  }
  ~TrafficOperation() override {
    const auto guard = engine_->guard();
    release();
  }

  [[nodiscard]] Traffic& traffic() { return *traffic_; }
  void start() {
    if (own_.bytes != 0 && own_to_ != own_.data) std::memcpy(own_to_, own_.data, own_.bytes);
    traffic_->start();
  }
  bool test() override {
    engine_->attend();
    const auto guard = engine_->guard();
    if (traffic_ == nullptr) return true;
    if (!traffic_->done()) engine_->poll();
    if (!traffic_->done()) return false;
    complete();
    return true;
  }
  void wait() override {
    const auto guard = engine_->guard();
    if (traffic_ == nullptr) return;
    engine_->wait(*traffic_);
    complete();
  }

 private:
  void complete() {
    if (reduces(call_.exchange)) {
      finish_reduction(own_to_, own_.bytes / size_of(call_.type), call_.type, call_.op,
                       engine_->bootstrap().size());
    }
    release();
  }
  void release() {
    if (traffic_ == nullptr) return;
    if (!traffic_->done()) {
      try {
        engine_->wait(*traffic_);
      } catch (const std::exception&) {  // the communicator is unusable from here on and says so
                                         // when used
      }
    }
    engine_->remove(*traffic_);
    traffic_.reset();
  }

  std::shared_ptr<Engine> engine_;
  ExchangeCall call_;
  Move<const std::byte> own_;
  std::byte* own_to_;
  std::unique_ptr<Traffic> traffic_;  ///< null when complete
};

}  // namespace

bool is_long(const ExchangeCall& call) {
  return is_collective(call.exchange) || call.count * size_of(call.type) > kEagerBytes;
}

Exchanges::Exchanges(std::shared_ptr<Engine> engine, HostMemoryPath& path)
    : engine_(std::move(engine)),
      path_(path),
      own_(std::make_shared<OwnMessages>(engine_->bootstrap().seat())),
      inbound_(std::make_shared<Inbound>(engine_, own_)) {}

void Exchanges::check(const ExchangeCall& call) const {
  const std::uint32_t ranks = engine_->bootstrap().size();
  if (!is_collective(call.exchange)) return static_cast<void>(pair_bytes(call, ranks));
  static_cast<void>(moves_of(call, engine_->bootstrap().seat(), ranks));
}

std::unique_ptr<Operation> Exchanges::start(const ExchangeCall& call, std::uint64_t& sequence,
                                            bool attended) {
  if (!is_collective(call.exchange)) return start_message(call, sequence);
  Moves moves = moves_of(call, engine_->bootstrap().seat(), engine_->bootstrap().size());
  const auto guard = engine_->guard();
  engine_->check_usable();
  if (!path_.sends_messages()) {
    const std::uint64_t mine = sequence++;
    return path_.exchange(call, std::move(moves), number_of(mine), mine, attended);
  }
  return start_traffic(call, moves, sequence);
}

std::unique_ptr<Operation> Exchanges::start_traffic(const ExchangeCall& call, const Moves& moves,
                                                    std::uint64_t& sequence) {
  const bool all = is_collective(call.exchange);
  auto operation = std::make_unique<TrafficOperation>(engine_, call, moves);
  Traffic& traffic = operation->traffic();
  const std::uint32_t number = number_of(sequence);
  for (const auto& out : moves.out) {
    traffic.add(out, header_of(call, out.bytes), all ? number : next(sent_[out.peer]));
  }
  for (const auto& in : moves.in) {
    traffic.add(in, header_of(call, in.bytes), all ? number : next(inbound_->received(in.peer)));
  }
  const Running running{&traffic, to_string(call.exchange), sequence, all};
  try {
    if (all) {
      engine_->add(running, {common_call(call)}, true);
      ++sequence;
    } else {
      engine_->add(running);
    }
    operation->start();
  } catch (const Error& error) {  // a part of it may be under way
    engine_->give_up(fmt::format("{}: {}", running.name(), error.what()));
    throw;
  }
  return operation;
}

}  // namespace multitree::runtime
