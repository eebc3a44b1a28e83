// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From the order of transfers to steps.
#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "algorithms/packing/steps/tree_plan_internal.hpp"

namespace multitree {
namespace {

/// The last step in which a link is used, and how often.
struct LinkUse {
  std::uint32_t step = 0, count = 0;
};

/// The step of each turn.
std::vector<std::uint32_t> least_steps(const PackingPlan& plan, const std::vector<Turn>& turns) {
  std::vector<LinkUse> uses(plan.topology.num_links());
  // First step in which a rank can send a chunk.
  std::vector<std::uint32_t> known(plan.chunking.chunks.size() * plan.packing.ranks, 0);
  // Its last reduction so far: where it came from. In one step lower ranks are summed first.
  std::vector<std::uint32_t> last(known.size(), 0);
  std::vector<std::uint32_t> steps;
  steps.reserve(turns.size());
  for (const Turn& turn : turns) {
    const TreePlan& tree = plan.tree_of(turn.chunk);
    const TreeArc& arc = tree.arcs[turn.arc];
    const auto route = plan.packing.route(arc);
    std::uint32_t step = known[plan.value_index(turn.chunk, arc.src)];
    for (const LinkId link : route) {
      const LinkUse& use = uses[index(link)];
      step = std::max(step, use.step + (use.count == plan.topology.slots(link) ? 1 : 0));
    }
    const std::size_t value = plan.value_index(turn.chunk, arc.dst);
    if (turn.arc < tree.reductions && tree.before[turn.arc] != kNoArc) {
      // Not before the last one, and in its step only from a higher rank.
      step = std::max(step, known[value] - (index(arc.src) > last[value] ? 1 : 0));
    }
    last[value] = index(arc.src);
    for (const LinkId link : route) {
      LinkUse& use = uses[index(link)];
      use = {step, step == use.step ? use.count + 1 : 1};
    }
    known[value] = std::max(known[value], step + 1);
    steps.push_back(step);
  }
  return steps;
}

/// Turns sorted by step, and otherwise as they were: counting sort.
std::vector<std::uint32_t> by_step(const std::vector<std::uint32_t>& steps) {
  std::vector<std::uint32_t> begin(1, 0);
  for (const std::uint32_t step : steps) {
    if (begin.size() < step + std::size_t{2}) begin.resize(step + std::size_t{2}, 0);
    ++begin[step + 1];
  }
  for (std::size_t s = 1; s < begin.size(); ++s) begin[s] += begin[s - 1];
  std::vector<std::uint32_t> order(steps.size());
  for (std::uint32_t i = 0; i < steps.size(); ++i) order[begin[steps[i]]++] = i;
  return order;
}

}  // namespace

Schedule number_steps(const PackingPlan& plan, const std::vector<Turn>& turns) {
  Schedule schedule;
  schedule.collective = plan.packing.collective;
  schedule.root = plan.packing.root;
  schedule.ranks = plan.packing.ranks;
  schedule.chunks = plan.chunking.chunks;
  schedule.transfers.reserve(turns.size());
  schedule.routes.reserve(turns.size());
  const std::vector<std::uint32_t> steps = least_steps(plan, turns);
  const std::vector<std::uint32_t> order = by_step(steps);
  // Of the turns of a step: their canonical order, and their arcs.
  using Place = std::tuple<bool, std::uint32_t, Rank, Rank, const TreeArc*>;
  std::vector<Place> places;
  for (std::size_t next = 0; next < order.size();) {
    const std::uint32_t step = steps[order[next]];
    places.clear();
    for (; next < order.size() && steps[order[next]] == step; ++next) {
      const Turn& turn = turns[order[next]];
      const TreePlan& tree = plan.tree_of(turn.chunk);
      const TreeArc& arc = tree.arcs[turn.arc];
      places.emplace_back(turn.arc >= tree.reductions, turn.chunk, arc.dst, arc.src, &arc);
    }
    std::ranges::sort(places);
    for (const auto& [is_copy, chunk, dst, src, arc] : places) {
      schedule.add(step, is_copy ? Op::Copy : Op::Reduce, chunk, src, dst, plan.packing.route(*arc));
    }
  }
  return schedule;
}

}  // namespace multitree
