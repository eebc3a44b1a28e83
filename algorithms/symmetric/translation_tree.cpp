// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tries for a tree with the least steps and depth, cheap ones first.
#include "algorithms/symmetric/translation_tree.hpp"

#include <algorithm>
#include <functional>

#include "algorithms/symmetric/tree_builders_internal.hpp"

namespace multitree {
namespace {

std::uint32_t bound(const CayleyGraph& graph, std::uint32_t diameter) {
  if (graph.size() == 1) return 0;
  return std::max(diameter, (graph.size() - 2) / graph.degree() + 1);
}

// How often each way is tried. Random tie-breaks are cheap and seldom help, balanced trees have
// both least steps and least depth on tori; detours come last as they cost depth.
constexpr std::uint64_t kShortestTries = 4, kBalancedTries = 24, kDetourTries = 40;

}  // namespace

std::vector<std::uint32_t> cayley_distances(const CayleyGraph& graph) {
  std::vector<std::uint32_t> distance(graph.size(), TranslationTree::kNone), queue{0};
  queue.reserve(graph.size());
  distance[0] = 0;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      const std::uint32_t to = graph.apply(queue[head], s);
      if (distance[to] != TranslationTree::kNone) continue;
      distance[to] = distance[queue[head]] + 1;
      queue.push_back(to);
    }
  }
  return distance;
}

CayleyDistances::CayleyDistances(const CayleyGraph& graph_)
    : graph(graph_), distance(cayley_distances(graph)), flex(graph.size(), 0) {
  for (std::uint32_t x = 0; x < graph.size(); ++x) {
    diameter = std::max(diameter, distance[x]);
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      if (distance[graph.apply(x, s)] == distance[x] + 1) ++flex[graph.apply(x, s)];
    }
  }
}

std::uint32_t least_steps(const CayleyGraph& graph) {
  return bound(graph, std::ranges::max(cayley_distances(graph)));
}

TranslationTree make_translation_tree(const CayleyGraph& graph) {
  const CayleyDistances distances(graph);
  const std::uint32_t least = bound(graph, distances.diameter);
  TranslationTree best = grow_translation_tree(distances, false, 0);
  const auto try_once = [&](TranslationTree&& tree) {
    if (std::pair(tree.steps, tree.depth) < std::pair(best.steps, best.depth)) {
      best = std::move(tree);
    }
  };
  for (std::uint64_t seed = 1; seed <= kShortestTries && best.steps > least; ++seed) {
    try_once(grow_translation_tree(distances, false, seed));
  }
  for (std::uint64_t seed = 1; seed <= kBalancedTries && best.steps > least; ++seed) {
    auto tree = balance_translation_tree(distances, seed);
    if (!tree) break;
    try_once(std::move(*tree));
  }
  for (std::uint64_t seed = 0; seed < kDetourTries && best.steps > least; ++seed) {
    try_once(grow_translation_tree(distances, true, seed));
  }
  return best;
}

}  // namespace multitree
