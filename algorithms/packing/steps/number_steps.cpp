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
    for (const NodeId node : group.switches()) {
      const std::uint32_t most = topology_.node(node).abilities.at_once;
      if (most > 0) step = std::max(step, next(switches_[index(node)], most));
    }
    return step;
  }
  void take(const ArcGroup& group, std::uint32_t step) {
    for (const LinkId link : group.links) add(links_[index(link)], step);
    for (const NodeId node : group.switches()) add(switches_[index(node)], step);
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

/// Where a transfer stands among those of one step that its rank sends too: their canonical order.
using OrderInStep = std::tuple<bool, std::uint32_t, Rank>;
OrderInStep order_in_step(const Turn& turn, const TreePlan& tree, Rank peer) {
  return {turn.arc >= tree.reductions, turn.chunk, peer};
}

/// What a rank sent, or received, last.
struct Last {
  std::uint32_t step = 0;
  OrderInStep place;

  /// The first step in which another comes after it.
  [[nodiscard]] std::uint32_t next(const OrderInStep& other) const {
    return step + (other < place ? 1 : 0);
  }
  /// The same of what is received: its mirror image is sent, the last first.
  [[nodiscard]] std::uint32_t next_turned(const OrderInStep& other) const {
    return step + (other > place ? 1 : 0);
  }
};

/// By rank: what keeps its order.
class RankOrders {
 public:
  RankOrders(std::uint32_t ranks, RankOrder order)
      : order_(order), sent_(ranks), received_(ranks, {0, kLastOfAll}) {}

  /// The first step for what a rank sends to another.
  [[nodiscard]] std::uint32_t first(const TreeArc& arc, const OrderInStep& sent,
                                    const OrderInStep& received) const {
    const Last& from = sent_[index(arc.src)];
    const Last& to = received_[index(arc.dst)];
    switch (order_) {
      case RankOrder::None:
        return 0;
      case RankOrder::OfSteps:
        return std::max(from.step, to.step);
      case RankOrder::WithinSteps:
        return std::max(from.next(sent), to.next_turned(received));
    }
    return 0;
  }
  void take(const TreeArc& arc, const OrderInStep& sent, const OrderInStep& received,
            std::uint32_t step) {
    sent_[index(arc.src)] = {step, sent};
    received_[index(arc.dst)] = {step, received};
  }

 private:
  static constexpr OrderInStep kLastOfAll{true, ~std::uint32_t{0}, Rank{0}};

  RankOrder order_;
  std::vector<Last> sent_, received_;
};

/// The step of each turn.
std::vector<std::uint32_t> least_steps(const PackingPlan& plan, const std::vector<Turn>& turns,
                                       RankOrder order) {
  Room room(plan.topology);
  // First step in which a rank can send a chunk.
  std::vector<std::uint32_t> known(plan.chunking.chunks.size() * plan.packing.ranks, 0);
  // Its last reduction so far: where it came from. In one step lower ranks are summed first.
  std::vector<std::uint32_t> last(known.size(), 0);
  RankOrders orders(plan.packing.ranks, order);
  std::vector<std::uint32_t> steps;
  steps.reserve(turns.size());
  for (const Turn& turn : turns) {
    const TreePlan& tree = plan.tree_of(turn.chunk);
    const ArcGroup& group = tree.arcs[turn.arc];
    std::uint32_t step = 0;
    for (const TreeArc& arc : group.arcs) {
      step = std::max(step, known[plan.value_index(turn.chunk, arc.src)]);
      step = std::max(step, orders.first(arc, order_in_step(turn, tree, arc.dst),
                                         order_in_step(turn, tree, arc.src)));
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
      orders.take(arc, order_in_step(turn, tree, arc.dst), order_in_step(turn, tree, arc.src),
                  step);
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

Schedule number_steps(const PackingPlan& plan, const std::vector<Turn>& turns, RankOrder order) {
  Schedule schedule;
  schedule.collective = plan.packing.collective;
  schedule.root = plan.packing.root;
  schedule.ranks = plan.packing.ranks;
  schedule.in_network = plan.packing.in_network;
  schedule.chunks = plan.chunking.chunks;
  schedule.transfers.reserve(turns.size());
  schedule.routes.reserve(turns.size());
  const std::vector<std::uint32_t> steps = least_steps(plan, turns, order);
  const std::vector<std::uint32_t> sorted = by_step(steps);
  // Of the turns of a step: their canonical order, and their arcs.
  using Place = std::tuple<bool, std::uint32_t, Rank, Rank, const ArcGroup*>;
  std::vector<Place> places;
  for (std::size_t next = 0; next < sorted.size();) {
    const std::uint32_t step = steps[sorted[next]];
    places.clear();
    for (; next < sorted.size() && steps[sorted[next]] == step; ++next) {
      const Turn& turn = turns[sorted[next]];
      const TreePlan& tree = plan.tree_of(turn.chunk);
      const ArcGroup& group = tree.arcs[turn.arc];
      const TreeArc& first = group.arcs.front();
      places.emplace_back(turn.arc >= tree.reductions, turn.chunk, first.dst, first.src, &group);
    }
    std::ranges::sort(places);
    for (const auto& [is_copy, chunk, dst, src, group] : places) {
      for (const TreeArc& arc : group->arcs) {
        schedule.add(step, is_copy ? Op::Copy : Op::Reduce, chunk, arc.src, arc.dst,
                     plan.packing.route(arc));
      }
    }
  }
  return schedule;
}

}  // namespace multitree
