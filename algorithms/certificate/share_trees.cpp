// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cheapest columns of the packing program.
#include "algorithms/certificate/share_trees_internal.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kTreesPerRound = 3;

/// The arcs of an out-tree of the transposed network, as data goes up.
std::vector<TreeArc> turned_around(std::vector<TreeArc> arcs, RoutePool& routes) {
  std::reverse(arcs.begin(), arcs.end());
  for (TreeArc& arc : arcs) {
    std::swap(arc.src, arc.dst);
    const auto route = route_of(arc, routes);
    arc.route_begin = add_route(std::vector<LinkId>(route.rbegin(), route.rend()), routes);
  }
  return arcs;
}

/// The arcs of a tree along the mates of its links.
std::vector<TreeArc> mirrored(const std::vector<TreeArc>& arcs, const Topology& topology,
                              RoutePool& routes) {
  std::vector<TreeArc> result = turned_around(arcs, routes);
  for (const TreeArc& arc : result) {
    for (std::uint32_t i = 0; i < arc.route_size; ++i) {
      LinkId& link = routes[arc.route_begin + i];
      link = *topology.mate(link);
    }
  }
  return result;
}

/// Where every link has a mate: a few trees, cheapest for any root.
std::vector<PackedTree> mirrored_trees(const Topology& topology, const std::vector<Price>& price,
                                       std::uint32_t round, RoutePool& routes) {
  std::vector<PackedTree> trees;
  const std::uint32_t n = topology.num_ranks(), tries = std::min(n, kTreesPerRound);
  for (std::uint32_t i = 0; i < tries; ++i) {
    PackedTree& tree = trees.emplace_back();
    tree.root = Rank{(round + i * n / tries) % n};
    tree.gather = cheapest_undirected_tree(topology, price, tree.root, routes);
    tree.reduce = mirrored(tree.gather, topology, routes);
  }
  return trees;
}

/// Any network: the cheapest pairs of an in-tree and an out-tree, for the roots where they are
/// cheapest.
std::vector<PackedTree> tree_pairs(const Topology& topology, const Topology& transposed,
                                   const std::vector<Price>& price, RoutePool& routes) {
  const Contraction gather = contract(topology, price), reduce = contract(transposed, price);
  const std::uint32_t n = topology.num_ranks(), tries = std::min(n, kTreesPerRound);
  std::vector<std::pair<Price, Rank>> roots;
  for (std::uint32_t r = 0; r < n; ++r) {
    roots.emplace_back(gather.tree_cost[r] + reduce.tree_cost[r], Rank{r});
  }
  std::partial_sort(roots.begin(), roots.begin() + tries, roots.end());
  std::vector<PackedTree> trees;
  for (std::uint32_t i = 0; i < tries; ++i) {
    PackedTree& tree = trees.emplace_back();
    tree.root = roots[i].second;
    tree.gather = cheapest_out_tree(topology, gather, tree.root, routes);
    tree.reduce = turned_around(cheapest_out_tree(transposed, reduce, tree.root, routes), routes);
  }
  return trees;
}

/// Meets the ranks of a tree, a farthest from `root` last.
void search_tree(Rank root, const std::vector<std::vector<TreeArc>>& leaving,
                 BreadthFirst& search) {
  search.run(index(root), [&](std::uint32_t rank) {
    for (const TreeArc& arc : leaving[rank]) search.meet(index(arc.dst));
  });
}

bool are_same(const std::vector<TreeArc>& a, const std::vector<TreeArc>& b,
              const RoutePool& routes) {
  return std::ranges::equal(a, b, [&](const TreeArc& one, const TreeArc& other) {
    return one.src == other.src && one.dst == other.dst &&
           std::ranges::equal(route_of(one, routes), route_of(other, routes));
  });
}

}  // namespace

bool are_same(const PackedTree& a, const PackedTree& b, const RoutePool& routes) {
  return a.root == b.root && are_same(a.gather, b.gather, routes) &&
         are_same(a.reduce, b.reduce, routes);
}

std::vector<PackedTree> cheapest_share_trees(const Topology& topology, const Topology& transposed,
                                             const std::vector<Price>& price, std::uint32_t round,
                                             RoutePool& routes) {
  return topology.is_symmetric() ? mirrored_trees(topology, price, round, routes)
                                 : tree_pairs(topology, transposed, price, routes);
}

PackedTree centred(const PackedTree& tree, const Topology& topology, RoutePool& routes) {
  std::vector<std::vector<TreeArc>> leaving(topology.num_ranks());
  for (const auto* arcs : {&tree.gather, &tree.reduce}) {
    for (const TreeArc& arc : *arcs) leaving[index(arc.src)].push_back(arc);
  }
  PackedTree result;
  result.root = tree.root;
  BreadthFirst search(topology.num_ranks());
  std::uint32_t least = topology.num_ranks();
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    search_tree(Rank{r}, leaving, search);
    const std::uint32_t depth = search.hops(search.order().back());
    if (depth >= least) continue;
    least = depth;
    result.root = Rank{r};
  }
  search_tree(result.root, leaving, search);
  for (const std::uint32_t rank : search.order()) {
    for (const TreeArc& arc : leaving[rank]) {
      if (search.hops(index(arc.dst)) > search.hops(rank)) result.gather.push_back(arc);
    }
  }
  result.reduce = mirrored(result.gather, topology, routes);
  return result;
}

}  // namespace multitree
