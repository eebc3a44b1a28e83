// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ports and links.
#include "nic/network/ports.hpp"

#include <algorithm>

namespace multitree::nic {

Ports ports_of(const Topology& topology, const Parameters& parameters) {
  Ports ports;
  ports.out.resize(topology.num_links());
  ports.in.resize(topology.num_links());
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const NodeId node = topology.node_of(Rank{r});
    const auto out = topology.out_links(node), in = topology.in_links(node);
    const auto most = static_cast<std::uint32_t>(std::max({out.size(), in.size(), std::size_t{1}}));
    const std::uint32_t count = parameters.ports == 0 ? most : std::min(parameters.ports, most);
    for (std::uint32_t i = 0; i < out.size(); ++i) ports.out[index(out[i])] = ports.all + i % count;
    for (std::uint32_t i = 0; i < in.size(); ++i) ports.in[index(in[i])] = ports.all + i % count;
    ports.first.push_back(ports.all);
    ports.count.push_back(count);
    ports.all += count;
  }
  return ports;
}

}  // namespace multitree::nic
