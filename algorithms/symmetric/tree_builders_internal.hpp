// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ways of building a TranslationTree.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/symmetric/translation_tree.hpp"

namespace multitree {

/// What both need to know of a graph, of which there is a copy for each tree.
struct CayleyDistances {
  const CayleyGraph& graph;
  std::uint32_t chunks;
  std::vector<std::uint32_t> distance;
  /// By how many generators an element is reached on shortest paths from the identity.
  std::vector<std::uint32_t> flex;
  std::uint32_t diameter = 0;
  std::uint32_t least_steps = 0;

  CayleyDistances(const CayleyGraph& graph, std::uint32_t chunks);

  [[nodiscard]] std::uint32_t elements() const {
    return static_cast<std::uint32_t>(distance.size());
  }
  /// The identity of a copy is the root of its tree.
  [[nodiscard]] bool is_root(std::uint32_t element) const { return distance[element] == 0; }
  [[nodiscard]] std::uint32_t root(std::uint32_t tree) const { return tree * graph.size(); }
};

/// A tree without arcs.
TranslationTree empty_tree(const CayleyDistances& distances);

/// Grows the tree step by step; in each, as many generators as possible get an element that is not
/// in the tree, preferably one that few generators reach (flex). With `any_path`, arcs that are not
/// on shortest paths serve where no other is left. Seed 0 breaks no ties at random.
TranslationTree grow_translation_tree(const CayleyDistances& distances, bool any_path,
                                      std::uint64_t seed);

/// First chooses a shortest-path tree that uses all generators equally, then its times: the arc
/// with the tallest subtree first. Empty if there is no such tree.
std::optional<TranslationTree> balance_translation_tree(const CayleyDistances& distances,
                                                        std::uint64_t seed);

/// Of ranks that meet at switches. O(size * chunks * levels). \pre levels.
TranslationTree make_level_tree(const AlikeRanks& ranks, std::uint32_t chunks);

/// Fisher-Yates, the same on every platform.
inline void shuffle(std::span<std::uint32_t> values, std::mt19937_64& random) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<std::size_t>(random() % i)]);
  }
}

}  // namespace multitree
