// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Best shortest routes through switches, by dynamic programming backwards from their end.
#include <algorithm>
#include <iterator>
#include <limits>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/packing/capacities/switch_routes_internal.hpp"

namespace multitree {

SwitchRoutes::SwitchRoutes(const Topology& topology, std::span<const std::int64_t> capacity,
                           RouteChoice choice, std::int64_t pieces)
    : topology_(topology),
      choice_(choice),
      pieces_(pieces),
      left_(capacity.begin(), capacity.end()),
      from_switch_(topology.num_nodes()),
      distances_(topology.num_ranks()),
      used_(topology.num_ranks()),
      merit_(topology.num_nodes()),
      last_(topology.num_nodes()),
      known_(topology.num_nodes(), 0) {
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    if (topology.node(link.src).is_switch()) from_switch_[index(link.dst)].push_back(LinkId{l});
  }
}

/// Links from a rank to every node, through switches alone.
const std::vector<std::uint32_t>& SwitchRoutes::distances_from(Rank src) {
  std::vector<std::uint32_t>& distance = distances_[index(src)];
  if (!distance.empty()) return distance;
  const NodeId start = topology_.node_of(src);
  distance =
      hops_from(topology_.num_nodes(), index(start), [&](std::uint32_t at, const auto& meet) {
        if (NodeId{at} != start && !topology_.node(NodeId{at}).is_switch()) return;
        for (const LinkId l : topology_.out_links(NodeId{at})) meet(index(topology_.link(l).dst));
      });
  return distance;
}

SwitchRoutes::Merit SwitchRoutes::extend(const Search& search, Merit route, LinkId link) const {
  const std::int64_t left = left_[index(link)];
  const Link& ends = topology_.link(link);
  route.capacity = std::min(route.capacity, left);
  if (topology_.node(ends.src).is_switch() && topology_.node(ends.dst).is_switch()) {
    route.between_switches = std::min(route.between_switches, left);
  }
  if (choice_ == RouteChoice::Own && search.used[index(link)]) ++route.used_before;
  if (route.capacity < search.amount) route.used_before = 0;
  return route;
}

/// Merit of the best shortest route to a node; sets last_ on the way.
SwitchRoutes::Merit SwitchRoutes::best(const Search& search, NodeId node) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (node == search.src) return {0, kMost, kMost};
  const std::uint32_t v = index(node);
  if (known_[v] == search_) return merit_[v];
  known_[v] = search_;
  merit_[v] = {};
  const auto consider = [&](LinkId link) {
    const NodeId from = topology_.link(link).src;
    if (left_[index(link)] == 0 || search.distance[index(from)] + 1 != search.distance[v]) return;
    const Merit merit = extend(search, best(search, from), link);
    if (merit.capacity == 0 || merit <= merit_[v]) return;
    merit_[v] = merit;
    last_[v] = link;
  };
  if (search.distance[v] == 1) {
    for (const LinkId link : topology_.out_links(search.src)) {
      if (topology_.link(link).dst == node) consider(link);
    }
  } else {
    for (const LinkId link : from_switch_[v]) consider(link);
  }
  return merit_[v];
}

bool SwitchRoutes::take(Rank src, Rank dst, std::int64_t amount, RankArc& arc) {
  const std::vector<std::uint32_t>& distance = distances_from(src);
  const NodeId from = topology_.node_of(src), to = topology_.node_of(dst);
  std::vector<bool>& used = used_[index(src)];
  used.resize(topology_.num_links(), false);
  std::vector<RouteShare> taken;
  if (distance[index(to)] == kFar) return false;
  std::int64_t missing = amount;
  while (missing > 0) {
    ++search_;
    const std::int64_t wanted = std::min(missing, (amount + pieces_ - 1) / pieces_);
    const std::int64_t width = std::min(wanted, best({from, wanted, distance, used}, to).capacity);
    if (width == 0) break;
    RouteShare& share = taken.emplace_back();
    share.capacity = width;
    for (NodeId node = to; node != from; node = topology_.link(share.route.back()).src) {
      share.route.push_back(last_[index(node)]);
      left_[index(last_[index(node)])] -= width;
      used[index(last_[index(node)])] = true;
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
