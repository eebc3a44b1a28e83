// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tries for trees with the least steps and depth, cheap ones first.
#include "algorithms/symmetric/translation_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/symmetric/tree_builders_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// least_steps(), given the elements' distances.
std::uint32_t bound(const std::vector<std::uint32_t>& distance, std::uint32_t degree,
                    std::uint32_t chunks) {
  const std::uint32_t diameter = std::ranges::max(distance);
  std::vector<std::uint64_t> at(diameter + 1, 0);
  for (const std::uint32_t d : distance) ++at[d];
  std::uint64_t farther = distance.size(), least = 0;
  for (std::uint32_t t = 0; t <= diameter; ++t) {
    farther -= at[t];
    if (farther > 0) least = std::max(least, t + (chunks * farther + degree - 1) / degree);
  }
  return static_cast<std::uint32_t>(least);
}

void check_arcs(const CayleyGraph& graph, std::uint32_t chunks) {
  if (std::uint64_t{graph.size()} * chunks < TranslationTree::kNone) return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("chunks: expected less than 2^32 arcs for {} elements, got {} chunks",
                          graph.size(), chunks));
}

// How often each way is tried. Random tie-breaks are cheap and seldom help, balanced trees have
// both least steps and least depth on tori; detours come last as they cost depth.
constexpr std::uint64_t kShortestTries = 4, kBalancedTries = 24, kDetourTries = 40;

}  // namespace

std::vector<std::uint32_t> cayley_distances(const CayleyGraph& graph) {
  std::vector<std::uint32_t> distance =
      hops_from(graph.size(), 0, [&](std::uint32_t element, const auto& meet) {
        for (std::uint32_t s = 0; s < graph.degree(); ++s) meet(graph.apply(element, s));
      });
  const auto missing = std::ranges::count(distance, kFar);
  if (missing > 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected generators that reach all {} elements, got {} that reach {}",
                            graph.size(), graph.degree(), graph.size() - missing));
  }
  return distance;
}

CayleyDistances::CayleyDistances(const CayleyGraph& graph_, std::uint32_t chunks_)
    : graph(graph_),
      chunks(chunks_),
      distance(cayley_distances(graph)),
      flex(graph.size(), 0),
      diameter(std::ranges::max(distance)),
      least_steps(bound(distance, graph.degree(), chunks)) {
  for (std::uint32_t x = 0; x < graph.size(); ++x) {
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      const std::uint32_t to = graph.apply(x, s);
      if (distance[to] == distance[x] + 1) ++flex[to];
    }
  }
  const std::size_t elements = std::size_t{graph.size()} * chunks;
  for (auto* of_one : {&distance, &flex}) {
    of_one->resize(elements);
    for (std::size_t e = graph.size(); e < elements; ++e)
      (*of_one)[e] = (*of_one)[e - graph.size()];
  }
}

std::uint32_t least_steps(const CayleyGraph& graph, std::uint32_t chunks) {
  return bound(cayley_distances(graph), graph.degree(), chunks);
}

TranslationTree empty_tree(const CayleyDistances& distances) {
  TranslationTree tree;
  tree.chunks = distances.chunks;
  tree.least_steps = distances.least_steps;
  tree.diameter = distances.diameter;
  tree.generator.assign(distances.elements(), TranslationTree::kNone);
  tree.step.assign(distances.elements(), TranslationTree::kNone);
  return tree;
}

TranslationTree make_translation_tree(const CayleyGraph& graph, std::uint32_t chunks) {
  check_arcs(graph, chunks);
  const CayleyDistances distances(graph, chunks);
  const std::uint32_t least = distances.least_steps;
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

TranslationTree make_translation_tree(const AlikeRanks& ranks, std::uint32_t chunks) {
  if (ranks.levels.empty()) return make_translation_tree(ranks.graph, chunks);
  check_arcs(ranks.graph, chunks);
  return make_level_tree(ranks, chunks);
}

}  // namespace multitree
