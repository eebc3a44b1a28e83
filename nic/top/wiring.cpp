// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers of ports, and what hardware has room for.
#include "nic/top/wiring.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "generated/mt_pkg.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// A rank in a header; a port in a hop.
constexpr std::uint32_t kMostRanks = 1U << mt_pkg::kSrcW, kMostPorts = 1U << mt_pkg::kHopPortW;

[[noreturn]] void refuse(const Topology& topology, const std::string& what) {
  throw Error(ErrorCode::Unsupported, fmt::format("hardware: {}: {}", topology.name(), what));
}

}  // namespace

Wiring wire(const Topology& topology, const Parameters& parameters, std::uint32_t latency) {
  if (topology.num_ranks() > kMostRanks) {
    refuse(topology,
           fmt::format("expected at most {} ranks, got {}", kMostRanks, topology.num_ranks()));
  }
  Wiring wiring;
  wiring.flit_bits = 8 * parameters.flit_bytes;
  wiring.links.resize(topology.num_links());
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    std::uint32_t out = 0, in = 0;
    for (const LinkId link : topology.out_links(NodeId{n})) wiring.links[index(link)].out = out++;
    for (const LinkId link : topology.in_links(NodeId{n})) wiring.links[index(link)].in = in++;
    const std::uint32_t ports = std::max({out, in, 1U});
    const Node& node = topology.node(NodeId{n});
    const std::uint32_t most = node.is_switch() ? kMostPorts : kMostPorts / 2;
    if (ports > most) {
      refuse(topology, fmt::format("expected at most {} links at a {}, got {} at {}", most,
                                   node.is_switch() ? "switch" : "rank", ports, node.name));
    }
    wiring.ports.push_back(ports);
    if (!node.is_switch()) wiring.most_ports = std::max(wiring.most_ports, ports);
  }
  const std::uint64_t clock = clock_of(topology, parameters);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    const LinkCycles cycles = cycles_of(link, clock, parameters);
    if (cycles.interval != kWholeCycle) {
      refuse(topology, fmt::format("expected links of a flit a cycle, got one of {} cycles a flit "
                                   "from {} to {}",
                                   static_cast<double>(cycles.interval) / kWholeCycle,
                                   topology.node(link.src).name, topology.node(link.dst).name));
    }
    wiring.links[l].latency = latency != 0 ? latency : cycles.latency;
  }
  return wiring;
}

}  // namespace multitree::nic
