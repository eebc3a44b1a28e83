// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What transports over a network share: where ranks are met, which links are watched, and the wait
/// for the first contact.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/messages/network/devices_internal.hpp"
#include "runtime/messages/network/heartbeat_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// What a rank writes into the address book, by names that its readers know.
using Addresses = std::map<std::string, std::string>;
std::string pack(const Addresses& addresses);
/// One of them; empty if there is none of that name.
std::optional<std::string> find_address(const std::string& packed, std::string_view wanted);

/// The links of a rank to the neighbours that it exchanges messages with, cable by cable. Without
/// open() nothing is watched.
class LinkWatch {
 public:
  explicit LinkWatch(Seat self) : self_(self) {}

  /// As choose_ways() says; to be called first.
  void set_ways(Ways ways) { ways_ = std::move(ways); }
  [[nodiscard]] const Ways& ways() const { return ways_; }
  /// Opens this rank's end of each link to `peers`; `mine` is where the others learn of it.
  void open(const std::vector<Host>& hosts, std::span<const Seat> peers, Deadline deadline,
            Addresses& mine);
  /// Before connections are made, which may take some ranks longer than others: from here on those
  /// are answered who ask.
  void answer(AddressBook& book, std::span<const Seat> peers);
  /// Connections are made: from here on silence counts.
  void start();
  /// Links that fall silent end nothing, and may speak again: is_silent(). \pre before answer()
  void follow();
  /// How often that has changed; from any thread.
  [[nodiscard]] std::uint32_t changes() const;
  [[nodiscard]] bool is_silent(Seat peer, std::uint32_t cable) const;
  /// Those whose links are, with all their cables; ascending. \pre follow()
  [[nodiscard]] std::vector<Seat> all_silent() const;
  /// That cable is dead, and nothing is lost by it: its silence ends nothing.
  void leave_out(Seat peer, std::uint32_t cable);
  /// This end of what leads to `peer` over that cable: "cable desk1 tb0 - desk2 tb1", "interface
  /// eth1"; empty where it is not known.
  [[nodiscard]] std::string where(Seat peer, std::uint32_t cable) const;
  /// Nothing is watched any more.
  void stop() { heartbeats_.reset(); }

  /// To be set when a message came from `peer` over that cable; null if it is not watched.
  [[nodiscard]] std::atomic<bool>* heard(Seat peer, std::uint32_t cable = 0) const;
  [[nodiscard]] std::optional<SilentLinks> silent() const;
  /// Then a rank that lives and cannot be reached is behind a dead link.
  [[nodiscard]] bool watches_hosts() const { return heartbeats_ != nullptr && ways_.alone; }
  [[nodiscard]] SilentLinks unreachable(Seat peer) const;
  /// Tells the others. `reason`: behind what it says, if not empty. \throws LinkError
  [[noreturn]] void link_is_dead(Bootstrap& bootstrap, const SilentLinks& silent,
                                 const std::string& reason = {}) const;

 private:
  void find_left(SilentLinks& silent) const;

  Seat self_;
  Ways ways_;
  std::unique_ptr<Heartbeats> heartbeats_;
  std::vector<Seat> watched_;
  std::string only_interface_;  ///< where this host has no choice
};

/// How far the first contact with a peer has come.
struct Contact {
  bool over = false;
  std::string failure;                ///< why there will be none; empty while there may be
  std::string_view missing = "from";  ///< "to": what this rank sends has not left
};

/// Moves the transport until all have been met. `look` tells of one of `peers`; `network` is in
/// messages: "UCX". \throws Error(Timeout), Error(Transport), LinkError naming the peer
void await_contacts(Bootstrap& bootstrap, Transport& transport, const LinkWatch& links,
                    std::span<const Seat> peers, const std::function<Contact(std::size_t)>& look,
                    std::string_view network, Deadline deadline);

/// How messages should be cut where nothing is faster than 10 Gbit/s. `buffered`: as in
/// TransportLimits.
TransportLimits slow_network_limits(const Ways& ways, bool buffered);

}  // namespace multitree::runtime
