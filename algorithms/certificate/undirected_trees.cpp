// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cheapest undirected trees and the moats around their parts.
#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "algorithms/certificate/metric_trees_internal.hpp"
#include "algorithms/certificate/shortest_paths_internal.hpp"

namespace multitree {
namespace {

/// Every node's nearest rank, how far it is, and the link by which the cheapest path from it
/// arrives.
struct Regions {
  std::vector<Rank> rank;
  std::vector<Price> distance;
  std::vector<LinkId> entry;
};

Regions grow_regions(const Topology& topology, const std::vector<Price>& price) {
  std::vector<NodeId> sources;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    sources.push_back(topology.node_of(Rank{r}));
  }
  Paths paths = cheapest_paths(topology, price, sources, Through::AnyNode);
  Regions regions{{}, std::move(paths.distance), std::move(paths.arrival)};
  for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
    const std::optional<Rank> rank = topology.node(paths.from[node]).rank;
    regions.rank.push_back(rank.value_or(Rank{}));
    if (!rank) regions.distance[node] = 0;  // a switch that nobody reaches
  }
  return regions;
}

/// Where two regions touch.
struct Bridge {
  Price length;  ///< of the path from rank to rank over `link`
  LinkId link{};
  Rank src{}, dst{};
};

std::vector<Bridge> find_bridges(const Topology& topology, const std::vector<Price>& price,
                                 const Regions& regions) {
  std::vector<Bridge> bridges;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const std::uint32_t src = index(topology.links()[l].src), dst = index(topology.links()[l].dst);
    if (regions.rank[src] == regions.rank[dst]) continue;
    bridges.push_back({regions.distance[src] + price[l] + regions.distance[dst], LinkId{l},
                       regions.rank[src], regions.rank[dst]});
  }
  return bridges;
}

/// The path from rank to rank over a bridge.
std::vector<LinkId> route_over(const Bridge& bridge, const Regions& regions,
                               const Topology& topology) {
  std::vector<LinkId> route = path_to(topology, regions.entry, topology.node_of(bridge.src),
                                      topology.link(bridge.link).src);
  route.push_back(bridge.link);
  for (NodeId node = topology.link(bridge.link).dst; node != topology.node_of(bridge.dst);) {
    const LinkId entry = regions.entry[index(node)];
    route.push_back(*topology.mate(entry));
    node = topology.link(entry).src;
  }
  return route;
}

/// The classes of ranks that are merged one after the other.
class Classes {
 public:
  explicit Classes(std::uint32_t ranks) : sets_(ranks), members_(ranks), birth_(ranks, 0) {
    for (std::uint32_t r = 0; r < ranks; ++r) members_[r] = {r};
  }
  std::size_t find(Rank rank) { return sets_.find_set(std::size_t{index(rank)}); }
  const std::vector<std::uint32_t>& members(std::size_t root) const { return members_[root]; }
  /// The distance at which the class came to be.
  const Price& birth(std::size_t root) const { return birth_[root]; }
  void merge(std::size_t a, std::size_t b, const Price& distance) {
    if (members_[a].size() < members_[b].size()) std::swap(a, b);
    std::vector<std::uint32_t> all = std::exchange(members_[a], {});
    all.insert(all.end(), members_[b].begin(), members_[b].end());
    members_[b].clear();
    sets_.link(a, b);
    members_[sets_.find_set(a)] = std::move(all);
    birth_[sets_.find_set(a)] = distance;
  }

 private:
  boost::disjoint_sets_with_storage<> sets_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<Price> birth_;
};

/// The cuts of one class while hops grow from `from` to `to`: it takes in the switches of its
/// regions as soon as hops are twice as long as their way to the nearest rank.
void add_cuts_of_class(const std::vector<std::uint32_t>& ranks, const Price& from, const Price& to,
                       const std::vector<std::vector<std::uint32_t>>& switches_of,
                       const Regions& regions, const Topology& topology, PricedCuts& result) {
  std::map<Price, std::vector<NodeId>> joining;
  std::vector<NodeId> far;
  for (const std::uint32_t rank : ranks) {
    far.push_back(topology.node_of(Rank{rank}));
    for (const std::uint32_t node : switches_of[rank]) {
      const Price distance = regions.distance[node] * 2;
      if (distance >= to) continue;
      joining[std::max(distance, from)].push_back(NodeId{node});
    }
  }
  joining.try_emplace(from);
  for (auto it = joining.begin(); it != joining.end(); ++it) {
    far.insert(far.end(), it->second.begin(), it->second.end());
    const auto next = std::next(it);
    std::vector<NodeId> sorted = far;
    std::sort(sorted.begin(), sorted.end());
    result.cuts.push_back(
        {std::move(sorted), Price((next == joining.end() ? to : next->first) - it->first)});
  }
}

}  // namespace

std::vector<TreeArc> cheapest_undirected_tree(const Topology& topology,
                                              const std::vector<Price>& price, Rank start,
                                              RoutePool& routes) {
  const Regions regions = grow_regions(topology, price);
  const std::vector<Bridge> bridges = find_bridges(topology, price, regions);
  std::vector<std::vector<std::uint32_t>> leaving(topology.num_ranks());
  for (std::uint32_t b = 0; b < bridges.size(); ++b) {
    leaving[index(bridges[b].src)].push_back(b);
  }
  using Entry = std::tuple<Price, std::uint32_t, std::uint32_t>;  // length, depth, bridge
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<std::uint32_t> depth(topology.num_ranks(), 0);
  std::vector<bool> joined(topology.num_ranks(), false);
  std::vector<TreeArc> tree;
  const auto join = [&](Rank rank) {
    joined[index(rank)] = true;
    for (const std::uint32_t b : leaving[index(rank)]) {
      if (!joined[index(bridges[b].dst)]) {
        queue.emplace(bridges[b].length, depth[index(rank)] + 1, b);
      }
    }
  };
  join(start);
  while (!queue.empty()) {
    const auto [length, level, b] = queue.top();
    queue.pop();
    const Bridge& bridge = bridges[b];
    if (joined[index(bridge.dst)]) continue;
    depth[index(bridge.dst)] = level;
    tree.push_back(make_arc(bridge.src, bridge.dst, route_over(bridge, regions, topology), routes));
    join(bridge.dst);
  }
  return tree;
}

PricedCuts cuts_of_undirected_tree(const Topology& topology, const std::vector<Price>& price) {
  const Regions regions = grow_regions(topology, price);
  std::vector<Bridge> bridges = find_bridges(topology, price, regions);
  std::stable_sort(bridges.begin(), bridges.end(),
                   [](const Bridge& a, const Bridge& b) { return a.length < b.length; });
  std::vector<std::vector<std::uint32_t>> switches_of(topology.num_ranks());
  PricedCuts result;
  result.switch_price = regions.distance;
  for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
    if (topology.nodes()[node].is_switch()) switches_of[index(regions.rank[node])].push_back(node);
  }
  Classes classes(topology.num_ranks());
  for (const Bridge& bridge : bridges) {
    const std::size_t a = classes.find(bridge.src), b = classes.find(bridge.dst);
    if (a == b) continue;
    for (const std::size_t part : {a, b}) {
      if (classes.birth(part) == bridge.length) continue;
      add_cuts_of_class(classes.members(part), classes.birth(part), bridge.length, switches_of,
                        regions, topology, result);
    }
    classes.merge(a, b, bridge.length);
  }
  return result;
}

}  // namespace multitree
