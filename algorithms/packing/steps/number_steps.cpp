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

/// Rooms that are filled step after step: slots of links, abilities of switches.
class Room {
 public:
  explicit Room(const Topology& topology)
      : topology_(topology), links_(topology.num_links()), switches_(topology.num_nodes()) {}

  /// The first step from `step` on that has room for a group.
  [[nodiscard]] std::uint32_t first(const ArcGroup& group, std::uint32_t step) const {
    for (const LinkId link : group.links) {
      step = std::max(step, next(links_[index(link)], topology_.slots(link)));
    }
    for (const NodeId node : group.switches) {
      const std::uint32_t most = topology_.node(node).abilities.at_once;
      if (most > 0) step = std::max(step, next(switches_[index(node)], most));
    }
    return step;
  }
  void take(const ArcGroup& group, std::uint32_t step) {
    for (const LinkId link : group.links) add(links_[index(link)], step);
    for (const NodeId node : group.switches) add(switches_[index(node)], step);
  }

 private:
  static std::uint32_t next(const LinkUse& use, std::uint32_t most) {
    return use.step + (use.count >= most ? 1 : 0);
  }
  static void add(LinkUse& use, std::uint32_t step) {
    use = {step, step == use.step ? use.count + 1 : 1};
  }

  const Topology& topology_;
  std::vector<LinkUse> links_, switches_;
};

/// The step of each turn.
std::vector<std::uint32_t> least_steps(const PackingPlan& plan, const std::vector<Turn>& turns) {
  Room room(plan.topology);
  // First step in which a rank can send a chunk.
  std::vector<std::uint32_t> known(plan.chunking.chunks.size() * plan.packing.ranks, 0);
  // Its last reduction so far: where it came from. In one step lower ranks are summed first.
  std::vector<std::uint32_t> last(known.size(), 0);
  std::vector<std::uint32_t> steps;
  steps.reserve(turns.size());
  for (const Turn& turn : turns) {
    const TreePlan& tree = plan.tree_of(turn.chunk);
    const ArcGroup& group = tree.arcs[turn.arc];
    std::uint32_t step = 0;
    for (const TreeArc& arc : group.arcs) {
      step = std::max(step, known[plan.value_index(turn.chunk, arc.src)]);
    }
    if (turn.arc < tree.reductions && tree.before[turn.arc] != kNoArc) {
      // Not before the last one, and in its step only from a higher rank.
      const TreeArc& arc = group.arcs.front();
      const std::size_t value = plan.value_index(turn.chunk, arc.dst);
      step = std::max(step, known[value] - (index(arc.src) > last[value] ? 1 : 0));
    }
    step = room.first(group, step);
    room.take(group, step);
    for (const TreeArc& arc : group.arcs) {
      const std::size_t value = plan.value_index(turn.chunk, arc.dst);
      last[value] = index(arc.src);
      known[value] = std::max(known[value], step + 1);
    }
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
  schedule.in_network = plan.packing.in_network;
  schedule.chunks = plan.chunking.chunks;
  schedule.transfers.reserve(turns.size());
  schedule.routes.reserve(turns.size());
  const std::vector<std::uint32_t> steps = least_steps(plan, turns);
  std::vector<std::uint32_t> order = by_step(steps);
  const auto group_of = [&](std::uint32_t i) -> const ArcGroup& {
    return plan.tree_of(turns[i].chunk).arcs[turns[i].arc];
  };
  const auto is_copy = [&](std::uint32_t i) {
    return turns[i].arc >= plan.tree_of(turns[i].chunk).reductions;
  };
  const auto canonical = [&](std::uint32_t i) {
    const TreeArc& arc = group_of(i).arcs.front();
    return std::tuple(is_copy(i), turns[i].chunk, arc.dst, arc.src);
  };
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    const std::uint32_t step = steps[order[begin]];
    while (end < order.size() && steps[order[end]] == step) ++end;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
              order.begin() + static_cast<std::ptrdiff_t>(end),
              [&](std::uint32_t a, std::uint32_t b) { return canonical(a) < canonical(b); });
    for (std::size_t i = begin; i < end; ++i) {
      for (const TreeArc& arc : group_of(order[i]).arcs) {
        schedule.add(step, is_copy(order[i]) ? Op::Copy : Op::Reduce, turns[order[i]].chunk,
                     arc.src, arc.dst, plan.packing.route(arc));
      }
    }
  }
  return schedule;
}

}  // namespace multitree
