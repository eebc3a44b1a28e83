// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A host, or several like it, as a network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/discovery/host.hpp"
#include "topologies/topology.hpp"

namespace multitree::discovery {

/// How it is known what a link carries.
enum class Known : std::uint8_t { Read, Assumed };

/// Both directions of a link, by the names of its ends. Latencies are always assumed.
struct LinkOrigin {
  std::string a, b;
  Bandwidth bandwidth;
  Time latency;
  Known known = Known::Assumed;
  std::string from;  ///< "PCIe of 0000:17:00.0", "12 NVLinks of 25GB/s", ...
};

struct HostNetwork {
  Topology topology;
  std::vector<LinkOrigin> links;  ///< one for each two links of the topology, in its order
};

struct HostNetworkOptions {
  /// Ranks are so many processes spread over the cores; 0: the GPUs, or where there are none the
  /// NUMA nodes.
  std::uint32_t processes = 0;
  /// Hosts like this one, joined at the switch `net` by their network interfaces; nodes are called
  /// NAME/gpu0. Empty: this host alone, without its interfaces.
  std::vector<std::string> hosts = {};
};

/// Ranks are GPUs (by PCI address), NUMA nodes or processes (by core), host by host. Switches:
/// `numa<N>`, the memory and PCIe of a NUMA node; `pci@<address>`, a PCIe switch; `nvswitch`;
/// `nic@<address>`; `net`. NUMA nodes are linked each two. Links and switches on no path between
/// two ranks are left out, and so is everything but NVLinks where these alone join all GPUs.
/// \throws Error(InvalidArgument): a host's name is empty or twice; several hosts without a network
/// interface.
HostNetwork make_host_network(const Host& host, const HostNetworkOptions& options);

}  // namespace multitree::discovery
