// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Smallest tight far sides, by one minimum cut for each.
#include "algorithms/certificate/tight_cuts.hpp"

#include "algorithms/cut_finder_internal.hpp"

namespace multitree {

std::vector<std::vector<NodeId>> tight_far_sides(const Topology& topology, const Bounds& bounds) {
  const std::uint32_t ranks = topology.num_ranks();
  std::vector<std::vector<NodeId>> sides;
  if (ranks < 2) return sides;
  cuts::CutFinder finder(topology);
  std::vector<bool> is_far(topology.num_nodes(), false);
  for (const NodeId node : bounds.all_gather_far) is_far[index(node)] = true;
  cuts::Flow entering = 0;
  for (const Link& link : topology.links()) {
    if (!is_far[index(link.src)] && is_far[index(link.dst)]) entering += finder.units(link);
  }
  // With these capacities every rank can just collect everybody's supply, and the cuts that leave
  // nothing over are the tight ones. Ranks on far sides found before supply without limit, which
  // keeps them off the others and flows short.
  const cuts::Flow everything = entering * static_cast<cuts::Flow>(ranks);
  std::vector<cuts::Flow> supplies(ranks, entering);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (supplies[r] == everything) continue;
    finder.set_capacities(static_cast<cuts::Flow>(bounds.bottleneck.size()), supplies);
    if (finder.max_flow(Rank{r}) > everything) continue;
    std::vector<NodeId> side = finder.smallest_sink_side(Rank{r});
    if (side.size() == topology.num_nodes()) continue;  // only the cut at the source is tight
    for (const NodeId node : side) {
      if (const auto rank = topology.node(node).rank) supplies[index(*rank)] = everything;
    }
    sides.push_back(std::move(side));
  }
  return sides;
}

}  // namespace multitree
