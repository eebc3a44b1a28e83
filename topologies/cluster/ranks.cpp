// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Hosts with several ranks each.
#include <fmt/format.h>

#include <vector>

#include "topologies/cluster/cluster.hpp"
#include "topologies/error.hpp"

namespace multitree::cluster {

Topology with_ranks_per_host(const Topology& hosts, std::uint32_t ranks, const Memory& memory) {
  constexpr std::uint64_t kMostRanks = 1U << 20;
  if (std::uint64_t{hosts.num_ranks()} * ranks > kMostRanks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected at most {} ranks in all, got {} of {} hosts", kMostRanks,
                            ranks, hosts.num_ranks()));
  }
  TopologyBuilder builder(fmt::format("{}, {} ranks each", hosts.name(), ranks));
  std::vector<std::vector<NodeId>> members(hosts.num_nodes());
  const auto add_rank = [&](NodeId host, std::uint32_t i) {
    members[index(host)].push_back(
        builder.add_endpoint(fmt::format("{}/{}", hosts.node(host).name, i)));
  };
  for (std::uint32_t r = 0; r < hosts.num_ranks(); ++r) {
    for (std::uint32_t i = 0; i < ranks; ++i) add_rank(hosts.node_of(Rank{r}), i);
  }
  for (std::uint32_t n = 0; n < hosts.num_nodes(); ++n) {
    const Node& node = hosts.node(NodeId{n});
    if (node.is_switch()) members[n].push_back(builder.add_switch(node.name));
    for (std::size_t b = 1; b < members[n].size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        builder.add_duplex(members[n][a], members[n][b], memory.rate, memory.latency);
      }
    }
  }
  for (const Link& link : hosts.links()) {
    builder.add_link(members[index(link.src)].front(), members[index(link.dst)].front(),
                     link.bandwidth, link.latency);
  }
  return std::move(builder).build();
}

}  // namespace multitree::cluster
