// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ports and cycles of a network's nodes and links, as hardware has them.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/parameters.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// What connects to what. Port p of a node is the p-th of its links, out and in alike.
struct Wiring {
  struct Ends {
    std::uint32_t out = 0;      ///< port at its beginning
    std::uint32_t in = 0;       ///< port at its end
    std::uint32_t latency = 1;  ///< cycles
  };
  std::vector<std::uint32_t> ports;  ///< [node]: as many as it has links in or out, at least 1
  std::vector<Ends> links;           ///< [link]
  std::uint32_t most_ports = 1;      ///< of a rank
  std::uint32_t flit_bits = 128;     ///< of data
};

/// \param latency of every link; 0: those of the topology, as cycles_of().
/// \throws Error(Unsupported) naming the node or link for what hardware has no room for: more than
/// 256 ranks, more ports than a hop of a route can name (32 of a switch, and of a rank 16 links and
/// as many ports of its interface), links slower than a flit a cycle.
Wiring wire(const Topology& topology, const Parameters& parameters, std::uint32_t latency = 0);

}  // namespace multitree::nic
