// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The exchanges of a communicator, from a call to its end.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>

#include "runtime/exchange/traffic_internal.hpp"
#include "runtime/execution/path_internal.hpp"

namespace multitree::runtime {

/// What the ends of a message compare.
[[nodiscard]] Header header_of(const ExchangeCall& call, std::size_t bytes);

/// Whether somebody should move it while its caller is away: small messages of pairs leave at once,
/// and lie there until they are asked for.
[[nodiscard]] bool is_long(const ExchangeCall& call);

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
  /// Of an end that nobody waits for any more.
  void forget(const Completion& completion);

 private:
  void meet(const End& end, std::list<End>& others, std::list<End>& own);
  Seat self_;
  std::list<End> sends_, receives_;
};

class Exchanges {
 public:
  /// `path` outlives them; it tells whether all ranks make the same calls.
  Exchanges(std::shared_ptr<Engine> engine, HostMemoryPath& path);

  /// \throws Error(InvalidArgument) as moves_of()
  void check(const ExchangeCall& call) const;
  /// Whether a message between two ranks is over, in no time or as soon as it is worth waiting for;
  /// if not, it has not been started. \throws as check()
  bool finish_shortly(const ExchangeCall& call);
  /// `sequence` numbers the collectives of the communicator. Null: it is done already.
  std::unique_ptr<Operation> start(const ExchangeCall& call, std::uint64_t& sequence);

 private:
  /// Messages so far between this rank and another, in pairs.
  struct Pair {
    std::uint32_t sent = 0, received = 0;
  };

  /// Numbers of messages below this are of pairs, from it on of collectives.
  static constexpr std::uint32_t kOfCollectives = 1U << 29;
  static std::uint32_t next(std::uint32_t& counter) { return counter++ & (kOfCollectives - 1); }

  std::unique_ptr<Operation> start_message(const ExchangeCall& call, std::uint64_t& sequence);
  bool send_at_once(const ExchangeCall& call, std::size_t bytes);
  bool receive_shortly(const ExchangeCall& call, std::size_t bytes);
  std::unique_ptr<Operation> start_receive(const ExchangeCall& call, std::size_t bytes,
                                           std::uint64_t sequence);
  std::unique_ptr<Operation> start_own(const ExchangeCall& call, std::size_t bytes,
                                       std::uint64_t sequence);
  std::unique_ptr<Operation> start_traffic(const ExchangeCall& call, const Moves& moves,
                                           std::uint64_t& sequence);

  std::shared_ptr<Engine> engine_;
  HostMemoryPath& path_;
  std::unordered_map<Seat, Pair> pairs_;
  std::shared_ptr<OwnMessages> own_;
};

}  // namespace multitree::runtime
