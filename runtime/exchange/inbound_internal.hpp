// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What has come for a rank that it has not received.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/exchange/transfer_internal.hpp"
#include "runtime/execution/engine_internal.hpp"

namespace multitree::runtime {

/// Numbers of messages below this are of pairs, from it on of collectives.
inline constexpr std::uint32_t kOfCollectives = 1U << 29;

/// Messages of a rank to itself. A pair is matched in order, whichever end comes first.
class OwnMessages {
 public:
  struct End {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    Header header;
    Completion* completion = nullptr;
  };
  explicit OwnMessages(Seat self) : self_(self) {}
  void send(const End& end) { meet(end, receives_, sends_); }
  void receive(const End& end) { meet(end, sends_, receives_); }
  /// Whether one has been sent that has not been received.
  [[nodiscard]] bool has_come() const { return !sends_.empty(); }
  /// Of an end that nobody waits for any more.
  void forget(const Completion& completion);

 private:
  void meet(const End& end, std::list<End>& others, std::list<End>& own);
  Seat self_;
  std::list<End> sends_, receives_;
};

/// Messages of other ranks to this one, in pairs. Called under the engine's guard.
class Inbound {
 public:
  Inbound(std::shared_ptr<Engine> engine, std::shared_ptr<OwnMessages> own)
      : engine_(std::move(engine)), own_(std::move(own)) {}

  /// Messages of the peer so far that receives were posted for.
  std::uint32_t& received(Seat peer) { return received_[peer]; }
  /// Whose next message can be received, as of the last progress; `call` is a Probe. Of several
  /// ranks the one that follows the last that was found, so that none is passed over for ever.
  std::optional<Rank> find(const ExchangeCall& call);

 private:
  [[nodiscard]] bool has_come_from(Seat peer) const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<OwnMessages> own_;
  std::unordered_map<Seat, std::uint32_t> received_;
  std::uint32_t next_ = 0;  ///< where the next search among all begins
};

}  // namespace multitree::runtime
