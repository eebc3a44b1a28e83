// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Switches as ranks behind the others.
#include "nic/table/with_interfaces.hpp"

#include <optional>
#include <utility>

namespace multitree::nic {

Topology with_interfaces(const Topology& topology) {
  TopologyBuilder builder(topology.name());
  std::uint32_t ranks = topology.num_ranks();
  for (const Node& node : topology.nodes()) {
    builder.add_node({node.name, node.abilities.any() ? std::optional(Rank{ranks++}) : node.rank});
  }
  for (const Link& link : topology.links()) {
    builder.add_link(link.src, link.dst, link.bandwidth, link.latency);
  }
  return std::move(builder).build();
}

std::vector<std::string> names_of_last(const Topology& topology, std::uint32_t helpers) {
  std::vector<std::string> names;
  for (std::uint32_t r = topology.num_ranks() - helpers; r < topology.num_ranks(); ++r) {
    names.push_back(topology.node(topology.node_of(Rank{r})).name);
  }
  return names;
}

}  // namespace multitree::nic
