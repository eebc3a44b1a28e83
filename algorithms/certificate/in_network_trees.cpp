// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A search for cheap trees of ranks and switches.
#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <tuple>

#include "algorithms/certificate/in_network_trees_internal.hpp"
#include "algorithms/certificate/shortest_paths_internal.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kSearchesPerRound = 3;

/// An edge between two nodes where a tree may branch: a link, or a cheapest path through switches
/// that only forward.
struct BranchEdge {
  std::uint32_t a = 0, b = 0;
  double price = 0;
  std::vector<LinkId> path;  // from a to b
};

/// Ranks, switches that add and copy, and the edges between them.
class BranchGraph {
 public:
  BranchGraph(const Topology& topology, const std::vector<Price>& price) : topology_(topology) {
    for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
      const Node& node = topology.node(NodeId{n});
      if (node.rank || node.abilities.any()) {
        can_branch_.push_back(true);
        all_.push_back(n);
      } else {
        can_branch_.push_back(false);
      }
    }
    add_links(price);
    if (all_.size() < topology.num_nodes()) add_paths(price);
    std::ranges::stable_sort(edges_, {}, &BranchEdge::price);
  }

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const std::vector<BranchEdge>& edges() const { return edges_; }
  [[nodiscard]] const std::vector<std::uint32_t>& nodes() const { return all_; }
  [[nodiscard]] bool is_rank(std::uint32_t node) const {
    return topology_.node(NodeId{node}).rank.has_value();
  }

 private:
  void add_links(const std::vector<Price>& price) {
    for (std::uint32_t l = 0; l < topology_.num_links(); ++l) {
      const Link& link = topology_.link(LinkId{l});
      const std::uint32_t a = index(link.src), b = index(link.dst);
      if (a > b || !can_branch_[a] || !can_branch_[b]) continue;
      edges_.push_back({a, b, price[l].convert_to<double>(), {LinkId{l}}});
    }
  }

  /// Through switches that only forward.
  void add_paths(const std::vector<Price>& price) {
    for (const std::uint32_t from : all_) {
      std::vector<double> distance(topology_.num_nodes(), std::numeric_limits<double>::infinity());
      std::vector<LinkId> arrival(topology_.num_nodes());
      using Entry = std::pair<double, std::uint32_t>;
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      distance[from] = 0;
      queue.emplace(0, from);
      while (!queue.empty()) {
        const auto [far, node] = queue.top();
        queue.pop();
        if (far > distance[node] || (node != from && can_branch_[node])) continue;
        for (const LinkId link : topology_.out_links(NodeId{node})) {
          const std::uint32_t next = index(topology_.link(link).dst);
          const double there = far + price[index(link)].convert_to<double>();
          if (there >= distance[next]) continue;
          distance[next] = there;
          arrival[next] = link;
          queue.emplace(there, next);
        }
      }
      for (const std::uint32_t to : all_) {
        if (to <= from || distance[to] == std::numeric_limits<double>::infinity()) continue;
        auto path = path_to(topology_, arrival, NodeId{from}, NodeId{to});
        if (path.size() > 1) edges_.push_back({from, to, distance[to], std::move(path)});
      }
    }
  }

  const Topology& topology_;
  std::vector<bool> can_branch_;    // by node
  std::vector<std::uint32_t> all_;  // nodes that can
  std::vector<BranchEdge> edges_;   // ascending by price
};

struct SearchTree {
  double price = std::numeric_limits<double>::infinity();
  std::vector<std::uint32_t> edges;  // of BranchGraph
  std::set<std::uint32_t> switches;  // where it branches or passes
  [[nodiscard]] bool joins_all() const { return price < std::numeric_limits<double>::infinity(); }
};

/// The cheapest tree over the ranks and `switches`, without those at which it would end.
SearchTree tree_over(const BranchGraph& graph, const std::set<std::uint32_t>& switches) {
  const std::uint32_t nodes = graph.topology().num_nodes();
  std::vector<std::uint32_t> rank(nodes), parent(nodes), degree(nodes, 0);
  std::vector<bool> is_in(nodes, false);
  boost::disjoint_sets sets(rank.data(), parent.data());
  std::uint32_t parts = 0;
  for (const std::uint32_t node : graph.nodes()) {
    is_in[node] = graph.is_rank(node) || switches.contains(node);
    if (!is_in[node]) continue;
    sets.make_set(node);
    ++parts;
  }
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t e = 0; e < graph.edges().size(); ++e) {
    const BranchEdge& edge = graph.edges()[e];
    if (!is_in[edge.a] || !is_in[edge.b]) continue;
    if (sets.find_set(edge.a) == sets.find_set(edge.b)) continue;
    sets.link(sets.find_set(edge.a), sets.find_set(edge.b));
    chosen.push_back(e);
    ++degree[edge.a];
    ++degree[edge.b];
    --parts;
  }
  for (bool more = true; more;) {  // ends that are no ranks
    const auto is_end = [&](std::uint32_t node) {
      return degree[node] == 1 && !graph.is_rank(node);
    };
    const std::size_t before = chosen.size();
    std::erase_if(chosen, [&](std::uint32_t e) {
      const BranchEdge& edge = graph.edges()[e];
      if (!is_end(edge.a) && !is_end(edge.b)) return false;
      --degree[edge.a];
      --degree[edge.b];
      return true;
    });
    more = chosen.size() < before;
  }
  SearchTree tree{0, chosen, {}};
  const std::uint32_t ranks = graph.topology().num_ranks();
  for (const std::uint32_t e : chosen) {
    const BranchEdge& edge = graph.edges()[e];
    tree.price += edge.price;
    for (const std::uint32_t node : {edge.a, edge.b}) {
      if (!graph.is_rank(node)) tree.switches.insert(node);
    }
  }
  if (chosen.size() + 1 != ranks + tree.switches.size()) return {};  // in several parts
  return tree;
}

/// Switches on cheapest paths from what is joined to the nearest rank that is not, from `start` on.
std::set<std::uint32_t> switches_on_paths(const BranchGraph& graph, Rank start) {
  const Topology& topology = graph.topology();
  std::vector<std::vector<std::uint32_t>> edges_of(topology.num_nodes());
  for (std::uint32_t e = 0; e < graph.edges().size(); ++e) {
    edges_of[graph.edges()[e].a].push_back(e);
    edges_of[graph.edges()[e].b].push_back(e);
  }
  std::vector<bool> is_joined(topology.num_nodes(), false);
  is_joined[index(topology.node_of(start))] = true;
  std::set<std::uint32_t> switches;
  for (std::uint32_t left = topology.num_ranks() - 1; left > 0; --left) {
    std::vector<double> distance(topology.num_nodes(), std::numeric_limits<double>::infinity());
    std::vector<std::uint32_t> from(topology.num_nodes());
    using Entry = std::pair<double, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (const std::uint32_t node : graph.nodes()) {
      if (!is_joined[node]) continue;
      distance[node] = 0;
      queue.emplace(0, node);
    }
    std::uint32_t found = topology.num_nodes();
    while (!queue.empty()) {
      const auto [far, node] = queue.top();
      queue.pop();
      if (far > distance[node]) continue;
      if (graph.is_rank(node) && !is_joined[node]) {
        found = node;
        break;
      }
      for (const std::uint32_t e : edges_of[node]) {
        const BranchEdge& edge = graph.edges()[e];
        const std::uint32_t next = edge.a == node ? edge.b : edge.a;
        if (far + edge.price >= distance[next]) continue;
        distance[next] = far + edge.price;
        from[next] = node;
        queue.emplace(distance[next], next);
      }
    }
    if (found == topology.num_nodes()) break;
    for (std::uint32_t node = found; !is_joined[node]; node = from[node]) {
      is_joined[node] = true;
      if (!graph.is_rank(node)) switches.insert(node);
    }
  }
  return switches;
}

/// One switch less, or one more, as long as that is cheaper.
SearchTree with_better_switches(const BranchGraph& graph, SearchTree tree) {
  constexpr double kCheaper = 1 - 1e-12;
  for (bool better = true; better;) {
    better = false;
    for (const std::uint32_t node : graph.nodes()) {
      if (graph.is_rank(node)) continue;
      std::set<std::uint32_t> switches = tree.switches;
      if (switches.erase(node) == 0) switches.insert(node);
      SearchTree other = tree_over(graph, switches);
      if (other.price >= tree.price * kCheaper) continue;
      tree = std::move(other);
      better = true;
    }
  }
  return tree;
}

PackedTree as_packed_tree(const BranchGraph& graph, const SearchTree& tree, RoutePool& routes) {
  const Topology& topology = graph.topology();
  InNetworkTree result(topology);
  std::vector<std::optional<std::uint32_t>> vertex(topology.num_nodes());
  const auto vertex_of = [&](std::uint32_t node) {
    const auto rank = topology.node(NodeId{node}).rank;
    if (!vertex[node]) vertex[node] = rank ? index(*rank) : result.add_vertex();
    return *vertex[node];
  };
  for (const std::uint32_t e : tree.edges) {
    const BranchEdge& edge = graph.edges()[e];
    std::uint32_t at = vertex_of(edge.a);
    for (std::size_t i = 0; i < edge.path.size(); ++i) {
      const bool is_last = i + 1 == edge.path.size();
      const std::uint32_t next = is_last ? vertex_of(edge.b) : result.add_vertex();
      result.add_edge(at, next, edge.path[i]);
      at = next;
    }
  }
  return result.rooted(result.centre(), routes);
}

}  // namespace

std::vector<PackedTree> cheap_in_network_trees(const Topology& topology,
                                               const std::vector<Price>& price, std::uint32_t round,
                                               RoutePool& routes) {
  const BranchGraph graph(topology, price);
  const std::uint32_t n = topology.num_ranks(), tries = std::min(n, kSearchesPerRound);
  std::vector<SearchTree> found;
  for (std::uint32_t i = 0; i < tries; ++i) {
    const Rank start{(round + i * n / tries) % n};
    SearchTree tree =
        with_better_switches(graph, tree_over(graph, switches_on_paths(graph, start)));
    const bool known = std::ranges::any_of(
        found, [&](const SearchTree& other) { return other.edges == tree.edges; });
    if (!known) found.push_back(std::move(tree));
  }
  std::ranges::stable_sort(found, {}, &SearchTree::price);
  std::vector<PackedTree> trees;
  for (const SearchTree& tree : found) trees.push_back(as_packed_tree(graph, tree, routes));
  return trees;
}

}  // namespace multitree
