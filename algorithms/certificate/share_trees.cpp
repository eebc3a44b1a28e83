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

/// The hops of an out-tree of the transposed network, as data goes up.
std::vector<Hop> turned_around(std::vector<Hop> hops) {
  std::reverse(hops.begin(), hops.end());
  for (Hop& hop : hops) {
    std::swap(hop.src, hop.dst);
    std::reverse(hop.route.begin(), hop.route.end());
  }
  return hops;
}

/// The hops of a tree along the mates of its links.
std::vector<Hop> mirrored(const std::vector<Hop>& hops, const Topology& topology) {
  std::vector<Hop> result = turned_around(hops);
  for (Hop& hop : result) {
    for (LinkId& link : hop.route) link = *topology.mate(link);
  }
  return result;
}

/// Where every link has a mate: a few trees, cheapest for any root.
std::vector<ShareTree> mirrored_trees(const Topology& topology, const std::vector<Price>& price,
                                      std::uint32_t round) {
  std::vector<ShareTree> trees;
  const std::uint32_t n = topology.num_ranks(), tries = std::min(n, kTreesPerRound);
  for (std::uint32_t i = 0; i < tries; ++i) {
    const Rank start{(round + i * n / tries) % n};
    std::vector<Hop> gather = cheapest_undirected_tree(topology, price, start);
    std::vector<Hop> reduce = mirrored(gather, topology);
    trees.push_back({start, std::move(gather), std::move(reduce)});
  }
  return trees;
}

/// Any network: the cheapest pairs of an in-tree and an out-tree, for the roots where they are
/// cheapest.
std::vector<ShareTree> tree_pairs(const Topology& topology, const Topology& transposed,
                                  const std::vector<Price>& price) {
  const Contraction gather = contract(topology, price), reduce = contract(transposed, price);
  const std::uint32_t n = topology.num_ranks(), tries = std::min(n, kTreesPerRound);
  std::vector<std::pair<Price, Rank>> roots;
  for (std::uint32_t r = 0; r < n; ++r) {
    roots.emplace_back(gather.tree_cost[r] + reduce.tree_cost[r], Rank{r});
  }
  std::partial_sort(roots.begin(), roots.begin() + tries, roots.end());
  std::vector<ShareTree> trees;
  for (std::uint32_t i = 0; i < tries; ++i) {
    const Rank root = roots[i].second;
    trees.push_back({root, cheapest_out_tree(topology, gather, root),
                     turned_around(cheapest_out_tree(transposed, reduce, root))});
  }
  return trees;
}

/// Meets the ranks of a tree, a farthest from `root` last.
void search_tree(Rank root, const std::vector<std::vector<Hop>>& leaving, BreadthFirst& search) {
  search.run(index(root), [&](std::uint32_t rank) {
    for (const Hop& hop : leaving[rank]) search.meet(index(hop.dst));
  });
}

}  // namespace

std::vector<ShareTree> cheapest_share_trees(const Topology& topology, const Topology& transposed,
                                            const std::vector<Price>& price, std::uint32_t round) {
  return topology.is_symmetric() ? mirrored_trees(topology, price, round)
                                 : tree_pairs(topology, transposed, price);
}

ShareTree centred(const ShareTree& tree, const Topology& topology) {
  std::vector<std::vector<Hop>> leaving(topology.num_ranks());
  for (const auto* hops : {&tree.gather, &tree.reduce}) {
    for (const Hop& hop : *hops) leaving[index(hop.src)].push_back(hop);
  }
  ShareTree result{tree.root, {}, {}};
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
    for (const Hop& hop : leaving[rank]) {
      if (search.hops(index(hop.dst)) > search.hops(rank)) result.gather.push_back(hop);
    }
  }
  result.reduce = mirrored(result.gather, topology);
  return result;
}

}  // namespace multitree
