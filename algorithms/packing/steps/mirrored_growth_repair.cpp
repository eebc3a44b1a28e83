// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Receptions for which growth found no slot: others are moved out of the way, as in Kuhn's
/// matching, within the times that their trees leave them.
#include <algorithm>

#include "algorithms/packing/steps/mirrored_growth_internal.hpp"

namespace multitree::mirrored {
namespace {

/// Receptions moved in a row at most.
constexpr int kMaxDepth = 64;
constexpr std::size_t kNoUnit = ~std::size_t{0};

}  // namespace

/// Whether the path from the root to a rank goes through another.
bool Trees::is_below(std::uint32_t tree, std::uint32_t rank, std::uint32_t above) const {
  while (rank != above) {
    const Reception& r = reception(tree, rank);
    if (r.is_missing()) return false;  // the root's always is
    rank = arcs_[r.link].src;
  }
  return true;
}

/// Takes a unit if it is free and the sender has the chunk in time for it.
bool Trees::take(const Wish& wish, std::uint32_t link, std::uint32_t step, std::size_t unit) {
  const std::uint32_t tree = wish.reception / ranks_, rank = wish.reception % ranks_;
  if (state_.owner[unit] != kNone || unit == wish.avoid) return false;
  if (arrival(tree, arcs_[link].src) > step || step >= wish.before) return false;
  if (step >= departure(tree, rank)) return false;
  assign(wish.reception, link, step, unit);
  return true;
}

bool Trees::take_free(const Wish& wish, std::uint32_t link) {
  const std::uint32_t tree = wish.reception / ranks_, rank = wish.reception % ranks_;
  const std::uint32_t until = std::min(wish.before, departure(tree, rank));
  for (std::uint32_t step = arrival(tree, arcs_[link].src); step < until; ++step) {
    if (is_reserved(link, step)) continue;
    const auto [first, number] = units(link, step);
    effort_ += number;
    for (std::size_t unit = first; unit < first + number; ++unit) {
      if (take(wish, link, step, unit)) return true;
    }
  }
  return false;
}

/// Takes a unit whose owner can go elsewhere.
bool Trees::push_aside(const Wish& wish, std::uint32_t link) {
  const std::uint32_t tree = wish.reception / ranks_, rank = wish.reception % ranks_;
  const std::uint32_t until = std::min(wish.before, departure(tree, rank));
  for (std::uint32_t step = arrival(tree, arcs_[link].src); step < until; ++step) {
    if (is_reserved(link, step)) continue;
    const auto [first, number] = units(link, step);
    effort_ += number;
    for (std::size_t unit = first; unit < first + number; ++unit) {
      const std::uint32_t owner = state_.owner[unit];
      if (unit == wish.avoid || owner == wish.reception) continue;
      if (owner != kNone &&
          (visited_[owner] == pass_ || !place({owner, state_.plan.steps, unit, wish.depth - 1}))) {
        continue;
      }
      if (take(wish, link, step, unit)) return true;
    }
  }
  return false;
}

/// Takes a unit that is free before the sender has the chunk, if the sender can have it earlier.
bool Trees::pull_forward(const Wish& wish, std::uint32_t link) {
  const std::uint32_t tree = wish.reception / ranks_, rank = wish.reception % ranks_;
  const std::uint32_t sender = arcs_[link].src, root = state_.plan.root[tree / 2];
  const std::uint32_t earlier = tree * ranks_ + sender;
  if (sender == root || visited_[earlier] == pass_ || is_below(tree, sender, rank)) return false;
  const std::uint32_t first_step = start(tree) + distances_(root, sender);
  std::uint32_t step =
      std::min({wish.before, departure(tree, rank), arrival(tree, sender)});  // one too late
  while (step-- > first_step) {
    if (is_reserved(link, step)) continue;
    const auto [first, number] = units(link, step);
    effort_ += number;
    for (std::size_t unit = first; unit < first + number; ++unit) {
      if (state_.owner[unit] != kNone || unit == wish.avoid) continue;
      return place({earlier, step, unit, wish.depth - 1}) && !is_below(tree, sender, rank) &&
             take(wish, link, step, unit);
    }
  }
  return false;
}

/// Gives a reception a unit, or another one; others keep one throughout, if perhaps another.
bool Trees::place(const Wish& wish) {
  const std::vector<std::uint32_t>& links = in_[wish.reception % ranks_];
  const std::size_t turn = random_() % links.size();
  const auto any_link = [&](bool (Trees::*way)(const Wish&, std::uint32_t)) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      if ((this->*way)(wish, links[(i + turn) % links.size()])) return true;
    }
    return false;
  };
  visited_[wish.reception] = pass_;
  if (any_link(&Trees::take_free)) return true;
  if (wish.depth == 0) return false;
  return any_link(&Trees::push_aside) || any_link(&Trees::pull_forward);
}

/// Places whatever is missing, as long as that helps.
void Trees::repair() {
  for (bool helps = true; helps && state_.missing > 0;) {
    helps = false;
    for (std::uint32_t tree = 0; tree < trees_; ++tree) {
      if (state_.lacks[tree] == 0) continue;
      for (std::uint32_t v = 0; v < ranks_; ++v) {
        const std::uint32_t reception = tree * ranks_ + v;
        if (!state_.receptions[reception].is_missing()) continue;
        if (v == state_.plan.root[tree / 2]) continue;
        ++pass_;
        if (place({reception, state_.plan.steps, kNoUnit, kMaxDepth})) helps = true;
      }
    }
  }
}

}  // namespace multitree::mirrored
