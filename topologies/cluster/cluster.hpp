// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Hosts that are joined by cables of their own: who hears whom makes cables, cables that were
/// measured make a network, and a network says which of its cables is slow, wrong or missing.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::cluster {

/// A network interface of a host.
struct Port {
  std::string name;
  std::string state;        ///< "up", "no carrier", "down"
  std::string address;      ///< of the link alone ("fe80::1"), else of IPv4; empty: none
  std::uint32_t mbits = 0;  ///< as its driver says; 0: it does not
  std::string over = {};    ///< the interface that it uses, as a VLAN does; empty: it is hardware
};

struct Host {
  std::string reach;     ///< as it was named to reach it
  std::string hostname;  ///< as it calls itself
  std::string identity;  ///< no two hosts have the same
  std::vector<Port> ports;
};

/// By host: a name that no other has; how it calls itself, else how it is reached.
std::vector<std::string> node_names(const std::vector<Host>& hosts);

/// Numbers of a host and of one of its ports.
struct PortId {
  std::uint32_t host = 0, port = 0;
  auto operator<=>(const PortId&) const = default;
};

/// What the one said has come to the other.
struct Hearing {
  PortId listener, speaker;
  auto operator<=>(const Hearing&) const = default;
};

/// Ports that all hear each other: two are a cable, more are at a switch. Ascending.
struct Segment {
  std::vector<PortId> ends;
  [[nodiscard]] bool is_cable() const { return ends.size() == 2; }
  bool operator==(const Segment&) const = default;
};

struct Inferred {
  std::vector<Segment> segments;  ///< ascending; of two hosts at least
  std::vector<Segment> loops;     ///< ports of one host
  /// Heard, and not the other way round; what it joins is no cable. Ascending.
  std::vector<Hearing> one_way;
};
/// A pure function; hearings may come in any order, and several times.
Inferred infer(std::vector<Hearing> hearings);

/// Whether `cable` is one of the others once more: one of its ports uses that of the other, as a
/// VLAN does.
bool appears_twice(const std::vector<Host>& hosts, const std::vector<Segment>& segments,
                   const Segment& cable);

/// What one end sent another, with nothing else on the way.
struct Flow {
  PortId from, to;
  Bandwidth rate;
  Time latency;  ///< of a message of a few bytes, one way
};

struct End {
  std::string node;  ///< of the network
  std::string port, address;
  std::uint32_t mbits = 0;    ///< as Port
  Bandwidth sends, receives;  ///< as measured
};
/// A cable, or the ports at a switch.
struct Cable {
  std::vector<End> ends;  ///< two, or at a switch more
  std::string
      switch_name;  ///< node of the network; empty: no switch, or one that it has no use for
  Time latency;
};
struct Place {
  std::string node, hostname, reach;
};
/// Hosts and cables, and the network that they are: rank r is the r-th host, or ranks next to each
/// other are one of several of it (with_ranks_per_host()).
struct Cluster {
  std::vector<Place> hosts;
  std::vector<Cable> cables;        ///< of those between the same hosts the fastest first
  std::optional<Topology> network;  ///< none: the hosts are in parts that nothing joins
};

/// The cables of hosts as inferred and measured, each once. In the network parallel cables are one
/// link with the sum of their rates, and it has of switches the fastest that are needed where
/// cables alone do not join all hosts. Rates that are within kLevel of each other are one there, as
/// they were measured.
Cluster assemble(const std::vector<Host>& hosts, const std::vector<Segment>& segments,
                 const std::vector<Flow>& flows);
inline constexpr double kLevel = 0.15;

/// `network`, whose rank r is on hosts[r], with all cables between two hosts: a link between two of
/// its ranks that has no other beside it stands for one cable, the fastest, and gets the rates of
/// all in the same proportion. The same network if no two hosts have several.
Topology with_all_cables(const Topology& network, const Cluster& cluster,
                         const std::vector<std::string>& hosts);

/// Up to '/': the host whose rank a node is.
inline std::string_view host_of(std::string_view node) { return node.substr(0, node.find('/')); }

/// What a rank of a host tells another one.
struct Memory {
  Bandwidth rate;  ///< of each pair of ranks, either way
  Time latency;
};
/// A network of hosts as one of `ranks` >= 1 ranks each, "desk1/0", "desk1/1", ..., those of host h
/// from h * ranks on. The first one of each has its links, and forwards for the others, which
/// reach each other and it through memory. \throws Error(InvalidArgument): more than 2^20 ranks
Topology with_ranks_per_host(const Topology& hosts, std::uint32_t ranks, const Memory& memory);

/// What is not as it should be.
struct Finding {
  std::string_view kind;
  std::string words;  ///< a sentence that names hosts and ports
  bool fault = true;  ///< else it is only worth knowing
};
/// A cable is slow that has less than this share of what the others have, or a parallel one.
inline constexpr double kSlow = 0.7;

/// `expected`: as many ranks as hosts, which are its nodes of these names, or else its ranks in
/// their order; null: cables are compared with each other.
std::vector<Finding> judge(const std::vector<Host>& hosts, const Inferred& inferred,
                           const Cluster& cluster, const Topology* expected);

}  // namespace multitree::cluster
