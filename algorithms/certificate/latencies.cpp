// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dijkstra's algorithm over latencies.
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "algorithms/certificate/latencies_internal.hpp"

namespace multitree {

std::vector<std::int64_t> latencies_from(std::span<const NodeId> sources, const Topology& topology,
                                         Along along) {
  using Reached = std::pair<std::int64_t, std::uint32_t>;
  std::vector<std::int64_t> least(topology.num_nodes(), kNoWay);
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  for (const NodeId source : sources) {
    least[index(source)] = 0;
    queue.emplace(0, index(source));
  }
  while (!queue.empty()) {
    const auto [here, node] = queue.top();
    queue.pop();
    if (here > least[node]) continue;
    const bool forwards = along == Along::Links;
    for (const LinkId id :
         forwards ? topology.out_links(NodeId{node}) : topology.in_links(NodeId{node})) {
      const Link& link = topology.link(id);
      const std::uint32_t next = index(forwards ? link.dst : link.src);
      const std::int64_t there = here + link.latency.picoseconds;
      if (there >= least[next]) continue;
      least[next] = there;
      queue.emplace(there, next);
    }
  }
  return least;
}

std::vector<std::int64_t> nearest_latencies(const Topology& topology) {
  // Each node is reached from the two ranks that are nearest to it; a rank itself is one of them.
  using Reached = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;  // when, whom, from whom
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    queue.emplace(0, index(topology.node_of(Rank{r})), r);
  }
  struct Nearest {
    std::uint32_t count = 0, first = 0;  // sources so far, and the first of them
    std::int64_t second = kNoWay;
  };
  std::vector<Nearest> nearest(topology.num_nodes());
  while (!queue.empty()) {
    const auto [here, node, from] = queue.top();
    queue.pop();
    Nearest& of_node = nearest[node];
    if (of_node.count == 2 || (of_node.count == 1 && of_node.first == from)) continue;
    if (of_node.count++ == 0) of_node.first = from;
    of_node.second = here;
    for (const LinkId id : topology.out_links(NodeId{node})) {
      const Link& link = topology.link(id);
      queue.emplace(here + link.latency.picoseconds, index(link.dst), from);
    }
  }
  std::vector<std::int64_t> of_ranks;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const Nearest& one = nearest[index(topology.node_of(Rank{r}))];
    of_ranks.push_back(one.count == 2 ? one.second : kNoWay);
  }
  return of_ranks;
}

std::vector<std::int64_t> rank_latencies(Rank rank, const Topology& topology, Along along) {
  const NodeId source = topology.node_of(rank);
  const std::vector<std::int64_t> of_nodes = latencies_from({&source, 1}, topology, along);
  std::vector<std::int64_t> of_ranks;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (Rank{r} != rank) of_ranks.push_back(of_nodes[index(topology.node_of(Rank{r}))]);
  }
  std::ranges::sort(of_ranks);
  return of_ranks;
}

}  // namespace multitree
