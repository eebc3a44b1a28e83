// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The exchanges of a communicator, from a call to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "runtime/exchange/inbound_internal.hpp"
#include "runtime/exchange/traffic_internal.hpp"
#include "runtime/execution/path_internal.hpp"

namespace multitree::runtime {

/// What the ends of a message compare.
[[nodiscard]] Header header_of(const ExchangeCall& call, std::size_t bytes);

/// Whether somebody should move it while its caller is away: small messages of pairs leave at once,
/// and lie there until they are asked for.
[[nodiscard]] bool is_long(const ExchangeCall& call);

class Exchanges {
 public:
  /// `path` outlives them; it tells whether all ranks make the same calls.
  Exchanges(std::shared_ptr<Engine> engine, HostMemoryPath& path);

  /// \throws Error(InvalidArgument) as moves_of()
  void check(const ExchangeCall& call) const;
  /// Whether a message between two ranks is over, in no time or as soon as it is worth waiting for;
  /// if not, it has not been started. \throws as check()
  bool finish_shortly(const ExchangeCall& call);
  /// Of a Probe, whose message can be received now, after a look at what has come. \throws as
  /// Engine::poll(), check()
  std::optional<Rank> probe(const ExchangeCall& call);
  /// `sequence` numbers the collectives of the communicator. `attended`: the caller waits for it at
  /// once. Null: it is done already.
  std::unique_ptr<Operation> start(const ExchangeCall& call, std::uint64_t& sequence,
                                   bool attended);

 private:
  /// Of the messages of a collective.
  static std::uint32_t number_of(std::uint64_t sequence) {
    return kOfCollectives | (static_cast<std::uint32_t>(sequence) & (kOfCollectives - 1));
  }
  static std::uint32_t next(std::uint32_t& counter) { return counter++ & (kOfCollectives - 1); }

  std::unique_ptr<Operation> start_message(const ExchangeCall& call, std::uint64_t& sequence);
  bool send_at_once(const ExchangeCall& call, std::size_t bytes);
  bool receive_shortly(const ExchangeCall& call, std::size_t bytes);
  bool probe_shortly(const ExchangeCall& call);
  std::unique_ptr<Operation> start_probe(const ExchangeCall& call, std::uint64_t sequence);
  std::unique_ptr<Operation> start_receive(const ExchangeCall& call, std::size_t bytes,
                                           std::uint64_t sequence);
  std::unique_ptr<Operation> start_own(const ExchangeCall& call, std::size_t bytes,
                                       std::uint64_t sequence);
  std::unique_ptr<Operation> start_traffic(const ExchangeCall& call, const Moves& moves,
                                           std::uint64_t& sequence);

  std::shared_ptr<Engine> engine_;
  HostMemoryPath& path_;
  std::unordered_map<Seat, std::uint32_t> sent_;  ///< messages so far to each rank, of pairs
  std::shared_ptr<OwnMessages> own_;
  std::shared_ptr<Inbound> inbound_;
};

}  // namespace multitree::runtime
