// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Variation of broadcasts that share a network with their mirror images.
#include <algorithm>

#include "algorithms/packing/steps/mirrored_growth_internal.hpp"

namespace multitree::mirrored {
namespace {

/// Lateness grows by less than this in a variation: none would leave the search in a dead end.
constexpr std::uint64_t kLeeway = 3;

}  // namespace

/// Up to four trees, one that lacks something likely among them.
std::vector<std::uint32_t> Trees::draw_trees() {
  const std::size_t number = std::min<std::size_t>(1 + random_() % 4, trees_);
  std::vector<std::uint32_t> drawn;
  while (drawn.size() < number) {
    const auto tree = static_cast<std::uint32_t>(random_() % trees_);
    if (drawn.empty() && random_() % 2 == 0 && state_.lacks[tree] == 0) continue;
    if (std::ranges::find(drawn, tree) == drawn.end()) drawn.push_back(tree);
  }
  return drawn;
}

/// When ranks short of slots have received what they have, in total.
std::uint64_t Trees::lateness() const {
  std::uint64_t total = 0;
  for (std::uint32_t v = 0; v < ranks_; ++v) {
    if (busy_from_[v] > state_.plan.steps) continue;
    for (std::uint32_t tree = 0; tree < trees_; ++tree) total += reception(tree, v).step;
  }
  return total;
}

void Trees::vary() {
  const State before = state_;
  const std::uint64_t late = lateness();
  regrow(draw_trees());
  repair();
  if (state_.missing > before.missing ||
      (state_.missing == before.missing && lateness() > late + random_() % kLeeway)) {
    state_ = before;
  }
}

}  // namespace multitree::mirrored
