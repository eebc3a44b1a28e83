// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Roots and starts of broadcasts. In a corner of a mesh everything has to come over two links, so
/// that hardly a step may pass without a chunk for it: that is what plans are chosen by.
#include <algorithm>

#include "algorithms/packing/steps/mirrored_growth_internal.hpp"

namespace multitree::mirrored {
namespace {

constexpr int kMaxChanges = 5000;
/// Ranks watched at most.
constexpr std::size_t kMaxNarrow = 8;

}  // namespace

Planner::Planner(const Topology& topology, const Distances& distances, const Rotation& rotation,
                 std::uint32_t pairs)
    : distances_(distances), rotation_(rotation), pairs_(pairs) {
  std::vector<std::uint32_t> into(distances.ranks, 0);
  std::uint64_t slots = 0;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    into[index(*topology.node(topology.link(LinkId{l}).dst).rank)] += topology.slots(LinkId{l});
    slots += topology.slots(LinkId{l});
  }
  const std::uint64_t chunks = 2 * std::uint64_t{pairs} * rotation.order();
  const std::uint64_t work = 2 * chunks * (distances.ranks - 1);
  least_steps_ =
      std::max(2 * distances.radius(), static_cast<std::uint32_t>((work + slots - 1) / slots));
  std::vector<bool> known(distances.ranks, false);
  for (std::uint32_t v = 0; v < distances.ranks && narrow_.size() < kMaxNarrow; ++v) {
    if (known[v] || into[v] > *std::ranges::min_element(into)) continue;
    for (const auto& image : rotation.ranks) known[image[v]] = true;
    narrow_.emplace_back(v, into[v]);
  }
}

/// A root among the more central ranks, from which everything is reached by then.
std::uint32_t Planner::draw_root(std::uint32_t start) {
  const std::uint32_t some = std::max(4U, distances_.ranks / (rotation_.order() == 1 ? 5 : 16));
  const std::uint32_t choice = std::min(some, distances_.ranks);
  for (int i = 0; i < 8; ++i) {
    const std::uint32_t root = distances_.central[random_() % choice];
    if (distances_.eccentricity[root] <= start) return root;
  }
  return distances_.central[0];
}

/// How many receptions come too late: those possible from each step on, beyond the slots from
/// there.
std::uint32_t Planner::excess(const Plan& plan) {
  std::uint32_t total = 0;
  for (const auto& [v, slots] : narrow_) {
    count_.assign(plan.steps + 1, 0);
    for (std::uint32_t p = 0; p < pairs_; ++p) {
      for (const auto& image : rotation_.ranks) {
        const std::uint32_t hops = distances_(plan.root[p], image[v]);
        ++count_[plan.start[p] + hops];
        ++count_[std::min(plan.steps, plan.steps - plan.start[p] + hops)];
      }
    }
    std::uint32_t later = 0;
    for (std::uint32_t step = plan.steps + 1; step-- > 0;) {
      later += count_[step];
      const std::uint32_t room = slots * (plan.steps - step + 1);
      if (later > room) total += later - room;
    }
  }
  return total;
}

void Planner::change(Plan& plan) {
  for (std::uint64_t changes = 1 + random_() % 2; changes > 0; --changes) {
    const std::size_t p = random_() % pairs_;
    std::uint32_t& start = plan.start[p];
    const std::uint64_t way = random_() % 3;
    if (way == 0) {
      const std::uint32_t first = distances_.radius();
      start = first + static_cast<std::uint32_t>(random_() % (plan.steps / 2 - first + 1));
    }
    if (way < 2) {
      plan.root[p] = draw_root(start);
    } else if (random_() % 2 == 0) {
      start = std::min(start + 1, plan.steps / 2);
    } else {
      start = std::max(start - 1, distances_.eccentricity[plan.root[p]]);
    }
  }
}

std::optional<Plan> Planner::draw(std::uint32_t steps) {
  const std::uint32_t first = distances_.radius();
  Plan plan{.steps = steps, .root = {}, .start = {}};
  for (std::uint32_t p = 0; p < pairs_; ++p) {  // spread evenly from the first to the middle
    plan.start.push_back(first + p * (steps / 2 - first + 1) / pairs_);
    plan.root.push_back(draw_root(plan.start.back()));
  }
  std::uint32_t least = excess(plan);
  for (int i = 0; i < kMaxChanges && least > 0; ++i) {
    Plan changed = plan;
    change(changed);
    const std::uint32_t now = excess(changed);
    if (now > least) continue;
    least = now;
    plan = std::move(changed);
  }
  if (least > 0) return std::nullopt;
  return plan;
}

}  // namespace multitree::mirrored
