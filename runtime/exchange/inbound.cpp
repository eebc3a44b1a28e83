// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Looking for messages that have come, and waiting for one.
#include "runtime/exchange/inbound_internal.hpp"

#include <fmt/format.h>

#include "runtime/exchange/exchanges_internal.hpp"

namespace multitree::runtime {
namespace {

/// Until a message can be received.
class ProbeOperation final : public Operation, public Activity {
 public:
  ProbeOperation(std::shared_ptr<Engine> engine, std::shared_ptr<Inbound> inbound,
                 const ExchangeCall& call, std::uint64_t sequence)
      : engine_(std::move(engine)), inbound_(std::move(inbound)), call_(call) {
    engine_->add({this, to_string(call.exchange), sequence, false});
  }
  ~ProbeOperation() override {
    const auto guard = engine_->guard();
    engine_->remove(*this);
  }

  bool advance() override {
    if (found_) return false;
    const std::optional<Rank> sender = inbound_->find(call_);
    if (!sender) return false;
    *call_.sender = *sender;
    return found_ = true;
  }
  [[nodiscard]] bool done() const override { return found_; }
  [[nodiscard]] std::string waiting_for() const override {
    if (call_.of_any) return "waiting for a message from any rank";
    return fmt::format("waiting for a message from rank {}", call_.peer);
  }
  /// Who waits for any rank waits for none of them in particular.
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override {
    if (call_.of_any) return {};
    return {seat_of(call_.peer)};
  }
  bool test() override {
    engine_->attend();
    const auto guard = engine_->guard();
    if (!done()) engine_->poll();
    return done();
  }
  void wait() override {
    const auto guard = engine_->guard();
    engine_->wait(*this);
  }

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Inbound> inbound_;
  ExchangeCall call_;
  bool found_ = false;
};

}  // namespace

bool Inbound::has_come_from(Seat peer) const {
  if (peer == engine_->bootstrap().seat()) return own_->has_come();
  const auto found = received_.find(peer);
  const std::uint32_t number = found == received_.end() ? 0 : found->second;
  return has_come(engine_->transport(), peer, number % kOfCollectives);
}

std::optional<Rank> Inbound::find(const ExchangeCall& call) {
  if (!call.of_any) {
    if (!has_come_from(seat_of(call.peer))) return std::nullopt;
    return call.peer;
  }
  const std::uint32_t ranks = engine_->bootstrap().size();
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const Seat peer{(next_ + i) % ranks};
    if (!has_come_from(peer)) continue;
    next_ = index(peer) + 1;
    return rank_at(peer);
  }
  return std::nullopt;
}

std::optional<Rank> Exchanges::probe(const ExchangeCall& call) {
  check(call);
  const auto guard = engine_->guard();
  engine_->look();
  return inbound_->find(call);
}

bool Exchanges::probe_shortly(const ExchangeCall& call) {
  const std::optional<Rank> sender = inbound_->find(call);
  if (sender) *call.sender = *sender;
  return sender.has_value();
}

std::unique_ptr<Operation> Exchanges::start_probe(const ExchangeCall& call,
                                                  std::uint64_t sequence) {
  if (probe_shortly(call)) return nullptr;
  return std::make_unique<ProbeOperation>(engine_, inbound_, call, sequence);
}

}  // namespace multitree::runtime
