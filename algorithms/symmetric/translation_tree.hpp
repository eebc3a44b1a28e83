// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One tree with times whose translates make up a contention-free all-gather.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/symmetric/alike_ranks.hpp"
#include "topologies/cayley.hpp"

namespace multitree {

/// Spanning trees from the identity, one for each of `chunks` chunks, in which no generator is used
/// twice in one step; over switches, no more often than the links of its way have slots. Their left
/// translates, one set per element, then use no link twice in one
/// step: the translate by g uses link (y, s) at step t only if a tree has the arc (g^-1 y, s) at t,
/// and there is one such arc at most. O(size * chunks) memory for what is O(size^2 * chunks)
/// transfers. Element x of tree k is at x + k * size.
struct TranslationTree {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<std::uint32_t> generator;  ///< of the arc into each element; kNone for the identity
  std::vector<std::uint32_t> step;       ///< of that arc; kNone for the identity
  std::uint32_t chunks = 1;
  std::uint32_t steps = 0;  ///< one past the last step
  std::uint32_t depth = 0;  ///< arcs on the longest path
  /// What no trees on the graph have less of (least_steps()) than `steps` and `depth`.
  std::uint32_t least_steps = 0, diameter = 0;
};

/// Fewest generators from the identity to each element. \throws Error(InvalidArgument) if they do
/// not reach all.
std::vector<std::uint32_t> cayley_distances(const CayleyGraph& graph);

/// No all-gather of `chunks` chunks per element has fewer steps: after t steps an element has at
/// most what is within distance t, and then gets one chunk a generator and step. The largest of
/// t + ceil(chunks * (elements farther than t) / degree) over t from 0 to the diameter.
std::uint32_t least_steps(const CayleyGraph& graph, std::uint32_t chunks = 1);

/// Trees with as few steps as are found, then as little depth; both are least on all tori that the
/// tests try. The same graph gives the same trees. O(chunks * size * degree) where the first try
/// succeeds. \throws Error(InvalidArgument) as cayley_distances(), or for 2^32 arcs and more.
TranslationTree make_translation_tree(const CayleyGraph& graph, std::uint32_t chunks = 1);
/// The same where ranks may meet at switches: there by level, with the load of links as even as the
/// slots are; steps and depth need not be least. O(chunks * size * levels).
TranslationTree make_translation_tree(const AlikeRanks& ranks, std::uint32_t chunks = 1);

}  // namespace multitree
