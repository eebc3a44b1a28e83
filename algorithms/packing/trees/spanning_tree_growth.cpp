// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A greedy packing of spanning trees: each grown around a centre of the network over the edges
/// that have been used least so far, then some of them grown again with all others in place.
#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/packing/trees/spanning_trees_internal.hpp"

namespace multitree {
namespace {

/// Trees are grown again for as long as that helps, this often at most.
constexpr int kMaxPasses = 8;

/// Ranks, those with the least eccentricity first.
std::vector<std::uint32_t> central_ranks(const DuplexNetwork& network) {
  std::vector<std::uint32_t> order(network.nodes), eccentricity;
  std::iota(order.begin(), order.end(), 0U);
  BreadthFirst search(network.nodes);
  for (const std::uint32_t root : order) {
    search.run(root, [&](std::uint32_t v) {
      for (const auto& [to, edge] : network.at(v)) search.meet(to);
    });
    eccentricity.push_back(search.hops(search.order().back()));
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t v) { return eccentricity[v]; });
  return order;
}

class BundleGrower {
 public:
  explicit BundleGrower(BundlePacking& packing) : packing_(packing), network_(*packing.network) {}

  /// Prim's algorithm with the cost: load beyond `par` (by edge), then depth, then load.
  void grow(TreeBundle& tree, std::uint32_t root, const std::vector<std::int64_t>& par) {
    tree.parent.assign(network_.nodes, 0);
    tree.edge.assign(network_.nodes, kNoEdge);
    tree.depth.assign(network_.nodes, kNoEdge);
    tree.depth[root] = 0;
    Queue queue;
    push_edges(queue, root, tree, par);
    for (std::uint32_t joined = 1; joined < network_.nodes;) {
      const std::uint32_t edge = queue.top().edge;
      queue.pop();
      const UndirectedGraph::Edge& ends = network_.edges[edge];
      const bool a_is_in = tree.depth[ends.a] != kNoEdge;
      if (a_is_in && tree.depth[ends.b] != kNoEdge) continue;
      const std::uint32_t parent = a_is_in ? ends.a : ends.b, child = ends.other(parent);
      tree.parent[child] = parent;
      tree.edge[child] = edge;
      tree.depth[child] = tree.depth[parent] + 1;
      ++joined;
      push_edges(queue, child, tree, par);
    }
  }

 private:
  struct Candidate {
    std::int64_t excess = 0;
    std::uint32_t depth = 0;
    std::int64_t load = 0;  // relative to the capacity, in 2^-20
    std::uint32_t edge = 0;
    auto operator<=>(const Candidate&) const = default;
  };
  using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

  void push_edges(Queue& queue, std::uint32_t node, const TreeBundle& tree,
                  const std::vector<std::int64_t>& par) const {
    for (const auto& [to, e] : network_.at(node)) {
      if (tree.depth[to] != kNoEdge) continue;
      const std::int64_t load = packing_.load[e] + tree.weight;
      const auto relative = static_cast<std::int64_t>(
          (__int128{load} << 20) / std::max<std::int64_t>(1, packing_.capacity[e]));
      queue.push({std::max<std::int64_t>(0, load - par[e]), tree.depth[node] + 1, relative, e});
    }
  }

  BundlePacking& packing_;
  const DuplexNetwork& network_;
};

std::int64_t total_excess(const BundlePacking& packing) {
  std::int64_t total = 0;
  for (std::uint32_t e = 0; e < packing.load.size(); ++e) {
    total += std::max<std::int64_t>(0, packing.excess(e));
  }
  return total;
}

}  // namespace

BundlePacking grow_bundles(const DuplexNetwork& network, std::vector<std::int64_t> capacity,
                           std::int64_t total, std::uint32_t bundles) {
  BundlePacking packing{&network, std::move(capacity), {}, {}};
  packing.load.assign(network.edges.size(), 0);
  const std::vector<std::uint32_t> centres = central_ranks(network);
  BundleGrower grower(packing);
  std::vector<std::uint32_t> roots;
  std::vector<std::int64_t> par(network.edges.size());
  std::int64_t placed = 0;
  for (std::uint32_t i = 0; i < bundles; ++i) {
    TreeBundle tree;
    tree.weight = (total + i) / bundles;
    placed += tree.weight;
    for (std::uint32_t e = 0; e < par.size(); ++e) {
      par[e] = static_cast<std::int64_t>(__int128{packing.capacity[e]} * placed / total);
    }
    const std::uint32_t root = centres[i % ((centres.size() + 3) / 4)];
    grower.grow(tree, root, par);
    packing.put(tree, 1);
    packing.bundles.push_back(std::move(tree));
    roots.push_back(root);
  }
  std::int64_t excess = total_excess(packing);
  for (int pass = 0; pass < kMaxPasses && excess > 0; ++pass) {
    for (std::uint32_t i = 0; i < bundles; ++i) {
      packing.put(packing.bundles[i], -1);
      grower.grow(packing.bundles[i], roots[i], packing.capacity);
      packing.put(packing.bundles[i], 1);
    }
    const std::int64_t before = std::exchange(excess, total_excess(packing));
    if (excess >= before) break;
  }
  return packing;
}

}  // namespace multitree
