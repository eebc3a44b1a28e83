// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Widest shortest routes through switches.
#include <algorithm>
#include <iterator>
#include <limits>

#include "algorithms/packing/switch_routes_internal.hpp"

namespace multitree {
namespace {

constexpr std::uint16_t kFar = std::numeric_limits<std::uint16_t>::max();

}  // namespace

SwitchRoutes::SwitchRoutes(const Topology& topology, std::span<const std::int64_t> capacity)
    : topology_(topology),
      left_(capacity.begin(), capacity.end()),
      from_switch_(topology.num_nodes()),
      distances_(topology.num_ranks()),
      width_(topology.num_nodes(), 0),
      last_(topology.num_nodes()),
      known_(topology.num_nodes(), 0) {
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    if (topology.node(link.src).is_switch()) from_switch_[index(link.dst)].push_back(LinkId{l});
  }
}

/// Links from a rank to every node, through switches alone.
const std::vector<std::uint16_t>& SwitchRoutes::distances_from(Rank src) {
  std::vector<std::uint16_t>& distance = distances_[index(src)];
  if (!distance.empty()) return distance;
  distance.assign(topology_.num_nodes(), kFar);
  std::vector<NodeId> queue{topology_.node_of(src)};
  distance[index(queue.front())] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (i > 0 && !topology_.node(queue[i]).is_switch()) continue;
    for (const LinkId l : topology_.out_links(queue[i])) {
      const NodeId to = topology_.link(l).dst;
      if (distance[index(to)] != kFar) continue;
      distance[index(to)] = static_cast<std::uint16_t>(distance[index(queue[i])] + 1);
      queue.push_back(to);
    }
  }
  return distance;
}

/// Capacity of the widest shortest route to a node; sets last_ on the way.
std::int64_t SwitchRoutes::widest(NodeId src, NodeId node,
                                  const std::vector<std::uint16_t>& distance) {
  if (node == src) return std::numeric_limits<std::int64_t>::max();
  const std::uint32_t v = index(node);
  if (known_[v] == search_) return width_[v];
  known_[v] = search_;
  width_[v] = 0;
  const auto consider = [&](LinkId link) {
    const NodeId from = topology_.link(link).src;
    if (left_[index(link)] <= width_[v] || distance[index(from)] + 1 != distance[v]) return;
    const std::int64_t width = std::min(left_[index(link)], widest(src, from, distance));
    if (width <= width_[v]) return;
    width_[v] = width;
    last_[v] = link;
  };
  if (distance[v] == 1) {
    for (const LinkId link : topology_.out_links(src)) {
      if (topology_.link(link).dst == node) consider(link);
    }
  } else {
    for (const LinkId link : from_switch_[v]) consider(link);
  }
  return width_[v];
}

bool SwitchRoutes::take(Rank src, Rank dst, std::int64_t amount, RankArc& arc) {
  const std::vector<std::uint16_t>& distance = distances_from(src);
  const NodeId from = topology_.node_of(src), to = topology_.node_of(dst);
  std::vector<RouteShare> taken;
  if (distance[index(to)] == kFar) return false;
  std::int64_t missing = amount;
  while (missing > 0) {
    ++search_;
    const std::int64_t width = std::min(missing, widest(from, to, distance));
    if (width == 0) break;
    RouteShare& share = taken.emplace_back();
    share.capacity = width;
    for (NodeId node = to; node != from; node = topology_.link(share.route.back()).src) {
      share.route.push_back(last_[index(node)]);
      left_[index(last_[index(node)])] -= width;
    }
    std::ranges::reverse(share.route);
    missing -= width;
  }
  if (missing > 0) {
    for (const RouteShare& share : taken) {
      for (const LinkId link : share.route) left_[index(link)] += share.capacity;
    }
    return false;
  }
  arc.capacity += amount;
  std::ranges::move(taken, std::back_inserter(arc.routes));
  return true;
}

}  // namespace multitree
