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

/// Numbers of messages below this are of pairs, from it on of collectives.
constexpr std::uint32_t kOfCollectives = 1U << 29;

Header header_of(const ExchangeCall& call, std::size_t bytes) {
  const Exchange exchange = call.exchange == Exchange::Receive ? Exchange::Send : call.exchange;
  return {.bytes = bytes,
          .exchange = exchange,
          .type = call.type,
          .op = reduces(exchange) ? call.op : ReduceOp::Sum};
}

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
  /// `agreement`: of all ranks on the call; may be null.
  void start(std::unique_ptr<Operation> agreement) {
    agreement_ = std::move(agreement);
    if (own_.bytes != 0 && own_to_ != own_.data) std::memcpy(own_to_, own_.data, own_.bytes);
    traffic_->start();
  }
  bool test() override {
    engine_->attend();
    if (agreement_ != nullptr && agreement_->test()) agreement_.reset();
    const auto guard = engine_->guard();
    if (traffic_ == nullptr) return agreement_ == nullptr;
    if (!traffic_->done()) engine_->poll();
    if (!traffic_->done()) return false;
    complete();
    return agreement_ == nullptr;
  }
  void wait() override {
    {
      const auto guard = engine_->guard();
      if (traffic_ != nullptr) {
        engine_->wait(*traffic_);
        complete();
      }
    }
    if (agreement_ != nullptr) agreement_->wait();
    agreement_.reset();
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
      } catch (const Error&) {  // the communicator is unusable from here on and says so when used
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
  std::unique_ptr<Operation> agreement_;
};

/// One end of a message of a rank to itself.
class OwnEnd final : public Operation, public Activity {
 public:
  OwnEnd(std::shared_ptr<Engine> engine, std::shared_ptr<OwnMessages> messages)
      : engine_(std::move(engine)), messages_(std::move(messages)) {
    end_.finished = &over_;
  }
  ~OwnEnd() override {
    const auto guard = engine_->guard();
    messages_->forget(end_);
    engine_->remove(*this);
  }
  [[nodiscard]] Completion& completion() { return end_; }

  bool advance() override {
    if (over_.empty()) return false;
    over_.clear();
    if (end_.state == Completion::State::Failed) {
      throw Error(ErrorCode::InvalidArgument, end_.error);
    }
    return true;
  }
  [[nodiscard]] bool done() const override { return end_.state == Completion::State::Done; }
  [[nodiscard]] std::string waiting_for() const override {
    return "waiting for the other end of a message to itself";
  }
  bool test() override {
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
  std::shared_ptr<OwnMessages> messages_;
  Completion end_;
  std::vector<Completion*> over_;
};

}  // namespace

void OwnMessages::meet(const End& end, std::list<End>& others, std::list<End>& own) {
  if (others.empty()) {
    own.push_back(end);
    return;
  }
  const End other = others.front();
  others.pop_front();
  const End& from = &own == &sends_ ? end : other;
  const End& to = &own == &sends_ ? other : end;
  try {
    check_header(to.header, from.header, true, self_, self_);
  } catch (const Error& error) {
    for (Completion* one : {from.completion, to.completion}) one->fail(error.what());
    return;
  }
  if (from.header.bytes != 0) std::memmove(to.to, from.from, from.header.bytes);
  from.completion->complete();
  to.completion->complete();
}

void OwnMessages::forget(const Completion& completion) {
  for (std::list<End>* const ends : {&sends_, &receives_}) {
    std::erase_if(*ends, [&](const End& end) { return end.completion == &completion; });
  }
}

Exchanges::Exchanges(std::shared_ptr<Engine> engine, HostMemoryPath& path)
    : engine_(std::move(engine)),
      path_(path),
      own_(std::make_shared<OwnMessages>(engine_->bootstrap().seat())) {}

void Exchanges::check(const ExchangeCall& call) const {
  static_cast<void>(moves_of(call, engine_->bootstrap().seat(), engine_->bootstrap().size()));
}

std::unique_ptr<Operation> Exchanges::start(const ExchangeCall& call, std::uint64_t& sequence) {
  const Seat self = engine_->bootstrap().seat();
  const Moves moves = moves_of(call, self, engine_->bootstrap().size());
  const auto guard = engine_->guard();
  engine_->check_usable();
  const bool all = is_collective(call.exchange);
  if (call.exchange == Exchange::Send && send_at_once(call, moves)) return nullptr;
  if (!all && seat_of(call.peer) == self) return start_own(call, moves, sequence);
  if (call.exchange == Exchange::AllToAll) {
    if (auto operation = path_.all_to_all(call, sequence)) {
      ++sequence;
      return operation;
    }
  }
  auto operation = std::make_unique<TrafficOperation>(engine_, call, moves);
  Traffic& traffic = operation->traffic();
  const std::uint32_t number =
      kOfCollectives | (static_cast<std::uint32_t>(sequence) & (kOfCollectives - 1));
  const auto next = [&](std::uint32_t& counter) { return counter++ & (kOfCollectives - 1); };
  for (const auto& out : moves.out) {
    traffic.add(out, header_of(call, out.bytes), all ? number : next(pairs_[out.peer].sent));
  }
  for (const auto& in : moves.in) {
    traffic.add(in, header_of(call, in.bytes), all ? number : next(pairs_[in.peer].received));
  }
  const Running running{&traffic, to_string(call.exchange), sequence, all};
  try {
    if (!all) {
      engine_->add(running);
      operation->start(nullptr);
      return operation;
    }
    const CommonCall common = common_call(call);
    engine_->add(running, {common}, true);
    operation->start(path_.agree_on(common, sequence++));
  } catch (const Error& error) {  // a part of it may be under way
    engine_->give_up(fmt::format("{}: {}", running.name(), error.what()));
    throw;
  }
  return operation;
}

/// A small message that leaves with the call has nothing to wait for.
bool Exchanges::send_at_once(const ExchangeCall& call, const Moves& moves) {
  const Move<const std::byte>& out = moves.out.front();
  if (out.peer == engine_->bootstrap().seat()) return false;
  std::uint32_t& sent = pairs_[out.peer].sent;
  const bool left =
      leaves_at_once(engine_->transport(), out, header_of(call, out.bytes), sent % kOfCollectives);
  sent += left ? 1 : 0;
  return left;
}

std::unique_ptr<Operation> Exchanges::start_own(const ExchangeCall& call, const Moves& moves,
                                                std::uint64_t sequence) {
  auto end = std::make_unique<OwnEnd>(engine_, own_);
  engine_->add({end.get(), to_string(call.exchange), sequence, false});
  if (call.exchange == Exchange::Send) {
    const auto& out = moves.out.front();
    own_->send({out.data, nullptr, header_of(call, out.bytes), &end->completion()});
  } else {
    const auto& in = moves.in.front();
    own_->receive({nullptr, in.data, header_of(call, in.bytes), &end->completion()});
  }
  return end;
}

}  // namespace multitree::runtime
