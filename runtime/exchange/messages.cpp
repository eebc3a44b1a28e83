// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between two ranks: those of a rank to itself, small ones, and those that a transport
/// hands over whole. What is left are exchanges like others.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "runtime/exchange/exchanges_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

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
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override { return {}; }
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

/// The receiver's end of a message that its transport hands over whole.
class WholeReceive final : public Operation, public Activity {
 public:
  WholeReceive(std::shared_ptr<Engine> engine, const Move<std::byte>& move, const Header& expected)
      : engine_(std::move(engine)), move_(move), expected_(expected), note_(note_of(expected)) {}
  ~WholeReceive() override {
    const auto guard = engine_->guard();
    if (!done()) {
      try {
        engine_->wait(*this);
      } catch (const std::exception&) {  // the communicator is unusable from here on and says so
                                         // when used
      }
    }
    engine_->remove(*this);
  }

  void start(std::uint32_t number, std::uint64_t sequence) {
    engine_->add({this, to_string(Exchange::Receive), sequence, false});
    receive_whole(engine_->transport(), move_, number, note_, end_);
  }
  bool advance() override {
    if (noticed_ || end_.state == Completion::State::Pending) return false;
    noticed_ = true;
    if (end_.state == Completion::State::Done) return true;
    if (!(note_ == note_of(expected_))) {
      check_header(expected_, header_of(note_), true, engine_->bootstrap().seat(), move_.peer);
    }
    throw Error(ErrorCode::Transport, fmt::format("{} while {}", end_.error, waiting_for()));
  }
  [[nodiscard]] bool done() const override { return end_.state == Completion::State::Done; }
  [[nodiscard]] std::string waiting_for() const override {
    return fmt::format("waiting to receive {} bytes from rank {}", move_.bytes, move_.peer);
  }
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override { return {move_.peer}; }
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
  Move<std::byte> move_;
  Header expected_;
  Note note_;
  Completion end_;
  bool noticed_ = false;
};

}  // namespace

Header header_of(const ExchangeCall& call, std::size_t bytes) {
  const Exchange exchange = call.exchange == Exchange::Receive ? Exchange::Send : call.exchange;
  return {.bytes = bytes,
          .exchange = exchange,
          .type = call.type,
          .op = reduces(exchange) ? call.op : ReduceOp::Sum};
}

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

std::unique_ptr<Operation> Exchanges::start_message(const ExchangeCall& call,
                                                    std::uint64_t& sequence) {
  const Seat self = engine_->bootstrap().seat(), peer = seat_of(call.peer);
  const std::size_t bytes = pair_bytes(call, engine_->bootstrap().size());
  const auto guard = engine_->guard();
  engine_->check_usable();
  if (call.exchange == Exchange::Probe) return start_probe(call, sequence);
  if (peer == self) return start_own(call, bytes, sequence);
  if (call.exchange == Exchange::Send) {
    if (send_at_once(call, bytes)) return nullptr;
  } else if (takes_whole(engine_->transport(), bytes)) {
    return start_receive(call, bytes, sequence);
  }
  return start_traffic(call, moves_of(call, self, engine_->bootstrap().size()), sequence);
}

bool Exchanges::finish_shortly(const ExchangeCall& call) {
  if (is_collective(call.exchange)) return false;
  const std::size_t bytes = pair_bytes(call, engine_->bootstrap().size());
  const auto guard = engine_->guard();
  engine_->check_usable();
  if (call.exchange == Exchange::Probe) return probe_shortly(call);
  if (seat_of(call.peer) == engine_->bootstrap().seat()) return false;
  engine_->look_after_others();
  return call.exchange == Exchange::Send ? send_at_once(call, bytes) : receive_shortly(call, bytes);
}

/// A small message that leaves with the call has nothing to wait for.
bool Exchanges::send_at_once(const ExchangeCall& call, std::size_t bytes) {
  const Move<const std::byte> out{seat_of(call.peer), static_cast<const std::byte*>(call.send),
                                  bytes};
  std::uint32_t& sent = sent_[out.peer];
  const bool left =
      leaves_at_once(engine_->transport(), out, header_of(call, bytes), sent % kOfCollectives);
  sent += left ? 1 : 0;
  return left;
}

/// One that comes while its receiver looks needs nobody who notes down what it is for.
bool Exchanges::receive_shortly(const ExchangeCall& call, std::size_t bytes) {
  const Move<std::byte> in{seat_of(call.peer), static_cast<std::byte*>(call.recv), bytes};
  std::uint32_t& received = inbound_->received(in.peer);
  const bool came =
      arrives_shortly(engine_->transport(), in, header_of(call, bytes), received % kOfCollectives);
  received += came ? 1 : 0;
  return came;
}

std::unique_ptr<Operation> Exchanges::start_receive(const ExchangeCall& call, std::size_t bytes,
                                                    std::uint64_t sequence) {
  const Move<std::byte> in{seat_of(call.peer), static_cast<std::byte*>(call.recv), bytes};
  auto receive = std::make_unique<WholeReceive>(engine_, in, header_of(call, bytes));
  try {
    receive->start(next(inbound_->received(in.peer)), sequence);
  } catch (const Error& error) {
    engine_->give_up(fmt::format("receive: {}", error.what()));
    throw;
  }
  return receive;
}

std::unique_ptr<Operation> Exchanges::start_own(const ExchangeCall& call, std::size_t bytes,
                                                std::uint64_t sequence) {
  auto end = std::make_unique<OwnEnd>(engine_, own_);
  engine_->add({end.get(), to_string(call.exchange), sequence, false});
  if (call.exchange == Exchange::Send) {
    own_->send({static_cast<const std::byte*>(call.send), nullptr, header_of(call, bytes),
                &end->completion()});
  } else {
    own_->receive(
        {nullptr, static_cast<std::byte*>(call.recv), header_of(call, bytes), &end->completion()});
  }
  return end;
}

}  // namespace multitree::runtime
