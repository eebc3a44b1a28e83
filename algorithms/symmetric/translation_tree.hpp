// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One tree with times whose translates make up a contention-free all-gather.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/symmetric/cayley.hpp"

namespace multitree {

/// A spanning tree from the identity in which no generator is used twice in one step. Its left
/// translates, one per element, then use no link twice in one step: the translate by g uses link
/// (y, s) at step t only if the tree has the arc (g^-1 y, s) at t, and there is one such arc at
/// most. O(size) memory for what is O(size^2) transfers.
struct TranslationTree {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<std::uint32_t> generator;  ///< of the arc into each element; kNone for the identity
  std::vector<std::uint32_t> step;       ///< of that arc; kNone for the identity
  std::uint32_t steps = 0;               ///< one past the last step
  std::uint32_t depth = 0;               ///< arcs on the longest path
};

/// Fewest generators from the identity to each element.
std::vector<std::uint32_t> cayley_distances(const CayleyGraph& graph);

/// No all-gather of one chunk per element has fewer steps: max(diameter, ceil((size-1)/degree)).
std::uint32_t least_steps(const CayleyGraph& graph);

/// A tree with as few steps as are found, then as little depth; both are least on all tori that the
/// tests try. The same graph gives the same tree. O(size * degree) where the first try succeeds.
TranslationTree make_translation_tree(const CayleyGraph& graph);

}  // namespace multitree
