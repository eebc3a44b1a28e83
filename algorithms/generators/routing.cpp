// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shortest routes by depth-first search in the DAG of shortest paths.
#include "algorithms/routing.hpp"

#include "algorithms/breadth_first_internal.hpp"

namespace multitree {

Router::Router(const Topology& topology)
    : topology_(&topology),
      distances_(topology.num_nodes()),
      visited_(topology.num_nodes(), 0),
      next_(topology.num_nodes(), 0) {}

const std::vector<std::uint32_t>& Router::distances_to(NodeId dst) {
  std::vector<std::uint32_t>& distances = distances_[index(dst)];
  if (!distances.empty()) return distances;
  static_assert(kUnreachable == kFar);
  distances =
      hops_from(topology_->num_nodes(), index(dst), [&](std::uint32_t node, const auto& meet) {
        for (const LinkId id : topology_->in_links(NodeId{node})) {
          meet(index(topology_->link(id).src));
        }
      });
  return distances;
}

std::uint32_t Router::distance(NodeId src, NodeId dst) { return distances_to(dst)[index(src)]; }

bool Router::find(NodeId src, NodeId dst, const std::function<bool(LinkId)>& usable,
                  std::vector<LinkId>& route) {
  const std::vector<std::uint32_t>& distances = distances_to(dst);
  route.clear();
  if (distances[index(src)] == kUnreachable) return false;
  ++stamp_;
  NodeId node = src;
  visited_[index(node)] = stamp_;
  next_[index(node)] = 0;
  while (node != dst) {
    const auto links = topology_->out_links(node);
    std::uint32_t& position = next_[index(node)];
    bool advanced = false;
    while (position < links.size() && !advanced) {
      const LinkId id = links[position++];
      const NodeId to = topology_->link(id).dst;
      // A node entered before either failed or, on a shortest path, cannot be met again.
      if (distances[index(to)] + 1 != distances[index(node)] || visited_[index(to)] == stamp_ ||
          !usable(id)) {
        continue;
      }
      route.push_back(id);
      visited_[index(to)] = stamp_;
      next_[index(to)] = 0;
      node = to;
      advanced = true;
    }
    if (advanced) continue;
    if (route.empty()) return false;
    node = topology_->link(route.back()).src;
    route.pop_back();
  }
  return true;
}

}  // namespace multitree
