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
  std::vector<std::uint32_t> order = by_step(steps);
  const auto canonical = [&](std::uint32_t i) {
    const TreePlan& tree = plan.tree_of(turns[i].chunk);
    const TreeArc& arc = tree.arcs[turns[i].arc];
    return std::tuple(turns[i].arc >= tree.reductions, turns[i].chunk, arc.dst, arc.src);
  };
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const std::uint32_t step = steps[order[begin]];
    while (end < order.size() && steps[order[end]] == step) ++end;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
              order.begin() + static_cast<std::ptrdiff_t>(end),
              [&](std::uint32_t a, std::uint32_t b) { return canonical(a) < canonical(b); });
    for (std::size_t i = begin; i < end; ++i) {
      const Turn& turn = turns[order[i]];
      const TreePlan& tree = plan.tree_of(turn.chunk);
      const TreeArc& arc = tree.arcs[turn.arc];
      schedule.add(step, turn.arc < tree.reductions ? Op::Reduce : Op::Copy, turn.chunk, arc.src,
                   arc.dst, plan.packing.route(arc));
    }
  }
  return schedule;
}

}  // namespace multitree
