// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dijkstra's algorithm.
#include "algorithms/certificate/shortest_paths_internal.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace multitree {

Paths cheapest_paths(const Topology& topology, const std::vector<Price>& price,
                     const std::vector<NodeId>& sources, Through through) {
  const Price unreachable = std::accumulate(price.begin(), price.end(), Price(1));
  Paths paths{std::vector<Price>(topology.num_nodes(), unreachable),
              std::vector<LinkId>(topology.num_nodes()),
              {}};
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) paths.from.push_back(NodeId{n});
  std::vector<bool> settled(topology.num_nodes(), false);
  using Entry = std::pair<Price, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const NodeId source : sources) {
    paths.distance[index(source)] = 0;
    queue.emplace(0, index(source));
  }
  while (!queue.empty()) {
    const NodeId node{queue.top().second};
    queue.pop();
    if (settled[index(node)]) continue;
    settled[index(node)] = true;
    const NodeId from = paths.from[index(node)];
    if (through == Through::Switches && node != from && !topology.node(node).is_switch()) continue;
    for (const LinkId link : topology.out_links(node)) {
      const std::uint32_t next = index(topology.link(link).dst);
      Price distance = paths.distance[index(node)] + price[index(link)];
      if (paths.distance[next] <= distance) continue;
      paths.distance[next] = distance;
      paths.arrival[next] = link;
      paths.from[next] = from;
      queue.emplace(std::move(distance), next);
    }
  }
  return paths;
}

std::vector<LinkId> path_to(const Topology& topology, const std::vector<LinkId>& arrival,
                            NodeId from, NodeId to) {
  std::vector<LinkId> path;
  for (NodeId node = to; node != from; node = topology.link(path.back()).src) {
    path.push_back(arrival[index(node)]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace multitree
