// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which network interface leads to which rank: where two hosts share a wire of their own, messages
/// between them should use it, whatever else they could be routed over.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/links.hpp"

namespace multitree::runtime {

/// Speed in Mbit/s: what it is limited to (shaped_mbits()), else what it has. A bridge, a tunnel or
/// a wire whose other end is gone has none: the file says -1 or fails. A pair of virtual interfaces
/// says 10,000, which means nothing; unlike those that stand for others (bonds, VLANs) it is of no
/// type.
std::uint32_t mbits_of(const char* interface, const std::map<int, std::uint32_t>& shaped);

/// An IPv4 network: all addresses that begin like `address`, of which bits beyond `prefix` are 0.
struct Subnet {
  std::uint32_t address = 0, prefix = 0;
  auto operator<=>(const Subnet&) const = default;
};

struct Interface {
  std::string name;
  std::uint32_t address = 0;  ///< IPv4, in the order of this host
  std::uint32_t prefix = 0;   ///< bits of the address that name the subnet
  std::uint32_t mbits = 0;    ///< speed in Mbit/s as its driver says, 0 if nobody knows
  [[nodiscard]] Subnet subnet() const;
  bool operator==(const Interface&) const = default;
};

/// A port of a host that a cable is in, as the file of its cluster says.
struct CablePort {
  std::uint32_t cable = 0;  ///< its number in the file
  std::string name;
  std::string address;      ///< IPv6, of the link alone, without the port
  std::uint32_t mbits = 0;  ///< as measured
  bool at_switch = false;   ///< others than the two can be met there
  bool operator==(const CablePort&) const = default;
};

/// What a rank tells the others about where it runs.
struct Host {
  std::string id;  ///< equal for ranks that share interfaces
  /// Whether interfaces may be chosen here: not with UCX where the user has chosen, UCX_TLS
  /// excludes TCP, or there is RDMA, whose fabrics route by themselves.
  bool free_choice = false;
  std::vector<Interface> interfaces;  ///< up, with an IPv4 address, not the loopback
  std::string cluster = {};           ///< digest of the file with its cables; empty: no file
  std::vector<CablePort> cables = {};
  bool installed = false;  ///< that file was not named, but found
  [[nodiscard]] const CablePort* port_of(std::uint32_t cable) const;
  bool operator==(const Host&) const = default;
};

/// This process's. What cannot be found out is left out.
Host describe_host(bool free_choice);
/// The same with the cables of named_cluster(). \throws as that
Host describe_host_with_cables();

/// Whether ranks take the cables of their hosts: of a file that was found, and not named, only
/// where all have the same, and run on several hosts. \throws Error(InvalidArgument): not all have
/// the file that some name
bool use_cables(const std::vector<Host>& hosts);

std::string pack(const Host& host);
/// \throws Error(Transport) if the text is not of pack().
Host unpack_host(const std::string& text);

/// An own interface and the wire behind it.
struct Wire {
  std::string device;
  Subnet subnet = {};
  std::optional<std::uint32_t> cable = std::nullopt;  ///< then there need be no subnet
  bool operator==(const Wire&) const = default;
};

/// How a rank reaches the others. All but `alone` and `wires` is the same at every rank.
struct Ways {
  /// By seat: the wire that leads to it and to no third host; empty where UCX is to choose.
  std::vector<std::optional<Wire>> wires;
  [[nodiscard]] const std::optional<Wire>& wire_to(Seat peer) const { return wires[index(peer)]; }
  /// By seat: the cables beside that one, in the order of the file; may be shorter than `wires`.
  std::vector<std::vector<Wire>> beside = {};
  /// Cables to `peer` that messages are divided among; 1 where there is no choice.
  [[nodiscard]] std::uint32_t cables_to(Seat peer) const;
  /// The wire of one of these.
  [[nodiscard]] std::optional<Wire> wire_to(Seat peer, std::uint32_t cable) const;
  std::uint32_t most_cables = 1;  ///< of two hosts, in the job
  bool any_wires = false;         ///< somewhere in the job
  bool alone = false;             ///< no other rank runs on this host: nothing to share memory with
  /// No host holds two ranks, and no interface is faster than 10 Gbit/s: TCP whose buffers and
  /// protocols can be chosen for that.
  bool slow_network = false;
  /// All that a host sends leaves by one interface: nobody has a wire of his own to another, and
  /// UCX takes the same interface to all.
  bool one_port = false;
};

/// `hosts`: by seat. A pure function, so that the two ends of a wire agree to use it: of several
/// wires between two hosts the one with the lowest subnet. Jobs of one or two hosts have no wires:
/// there UCX may as well use all interfaces. Cables of a file go before that: of two hosts the
/// first that no others are at, with those beside it, else a switch. \throws
/// Error(InvalidArgument): files differ
Ways choose_ways(const std::vector<Host>& hosts, Seat self);

/// The own address from which `peer` is reached without a choice: on the wire to it, or where both
/// hosts have one interface only. Empty elsewhere, and where UCX may use something else than TCP.
std::optional<std::uint32_t> address_towards(const std::vector<Host>& hosts, const Ways& ways,
                                             Seat self, Seat peer);

/// Socket buffers that keep a link of up to 10 Gbit/s busy on a cluster's round trips (50 us).
inline constexpr std::uint32_t kSocketBufferBytes = 64 * 1024;

/// A sender's, for a link of `mbits` (0: not known), as it is asked for; the kernel takes twice
/// that, for all that it has to store. No more than keeps the link busy: what is queued there
/// cannot be overtaken, and where several send to one port at a time it overflows the switch.
std::uint32_t send_buffer_bytes(std::uint32_t mbits);

/// A receiver's, for a link of `mbits` over which up to `senders` send at a time, as it is asked
/// for. What they may have on their way together fits the queue of a switch's port: TCP counts on
/// losses where it does not, and each costs a timeout. Below 1 Gbit/s only: on faster links small
/// windows cost more than they save.
std::uint32_t receive_buffer_bytes(std::uint32_t mbits, std::size_t senders);

inline constexpr std::uint32_t kSlowMbits = 10'000;

}  // namespace multitree::runtime
