// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The search for fewer and fewer steps, and its result as a schedule.
#include "algorithms/packing/steps/mirrored_growth.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "algorithms/packing/steps/mirrored_growth_internal.hpp"

namespace multitree {
namespace {

using mirrored::Distances;
using mirrored::Plan;
using mirrored::Planner;
using mirrored::Reception;
using mirrored::Rotation;
using mirrored::Trees;

/// Choices weighed: in all, which takes about two seconds, and for one plan. Another plan helps
/// more than more variations of one.
constexpr std::uint64_t kEffort = 32'000'000, kEffortOfPlan = 2'000'000;
/// Beyond this many ranks growth alone takes most of the time there is.
constexpr std::uint32_t kManyRanks = 100;
constexpr std::uint64_t kEffortOfMany = 3'000'000;
/// Plans drawn for a number of steps before more are tried.
constexpr int kPlans = 4;
/// Steps fewer than the best that are tried.
constexpr std::uint32_t kMostFewer = 3;

class Search {
 public:
  Search(const Topology& topology, std::uint32_t chunks)
      : topology_(topology),
        distances_(topology),
        rotation_(mirrored::find_rotation(topology, distances_, chunks / 2)),
        planner_(topology, distances_, rotation_, chunks / 2 / rotation_.order()),
        least_(planner_.least_steps()),
        effort_left_(distances_.ranks > kManyRanks ? kEffortOfMany : kEffort) {}

  std::optional<Schedule> run(std::uint32_t most_steps) {
    std::uint32_t steps = least_;
    while (steps < most_steps && !grow(steps)) steps += 1 + steps / 32;
    steps = std::min(steps, most_steps);
    // In turn: fewer steps are not always harder to reach.
    for (std::uint32_t fewer = 1; steps > least_ && effort_left_ > 0;
         fewer = fewer % kMostFewer + 1) {
      if (steps < least_ + fewer) {
        fewer = 0;
      } else if (vary(steps - fewer)) {
        steps -= std::exchange(fewer, 0);
      }
    }
    if (!found_) return std::nullopt;
    return make_schedule();
  }

 private:
  /// Grows trees by a few plans.
  bool grow(std::uint32_t steps) {
    for (int i = 0; i < kPlans; ++i) {
      std::optional<Plan> plan = planner_.draw(steps);
      if (!plan) continue;
      plan->reserve = i % 2 == 0;
      Trees trees(topology_, distances_, rotation_, std::move(*plan), ++seed_);
      trees.grow();
      if (trees.missing() > 0) continue;
      found_.emplace(std::move(trees));
      return true;
    }
    return false;
  }

  /// Grows trees by one plan and varies them for a while.
  bool vary(std::uint32_t steps) {
    std::optional<Plan> plan = planner_.draw(steps);
    for (int i = 1; i < kPlans && !plan; ++i) plan = planner_.draw(steps);
    if (!plan) {
      least_ = steps + 1;
      return false;
    }
    plan->reserve = !found_ || found_->plan().reserve;
    Trees trees(topology_, distances_, rotation_, std::move(*plan), ++seed_);
    trees.grow();
    const std::uint64_t most = std::min(effort_left_, kEffortOfPlan);
    while (trees.missing() > 0 && trees.effort() < most) trees.vary();
    effort_left_ -= std::min(effort_left_, trees.effort());
    if (trees.missing() > 0) return false;
    found_.emplace(std::move(trees));
    return true;
  }

  [[nodiscard]] Schedule make_schedule() const {
    Schedule schedule;
    schedule.collective = Collective::AllReduce;
    schedule.ranks = distances_.ranks;
    const Plan& plan = found_->plan();
    const std::uint32_t order = rotation_.order();
    const auto trees = static_cast<std::uint32_t>(2 * plan.root.size());
    const auto rank = [&](NodeId node) { return *topology_.node(node).rank; };
    for (std::uint32_t c = 0; c < trees * order; ++c) {  // chunks 2p and 2p + 1 are still a pair
      const std::uint32_t tree = c / (2 * order) * 2 + c % 2, power = c / 2 % order;
      const std::uint32_t root = plan.root[tree / 2];
      schedule.chunks.push_back(Chunk::rooted(Rank{rotation_.ranks[power][root]}, c, 1));
      for (std::uint32_t v = 0; v < distances_.ranks; ++v) {
        const Reception& reception = found_->reception(tree, v);
        if (v == root) continue;
        const LinkId id{rotation_.links[power][reception.link]};
        const LinkId mate = *topology_.mate(id);
        const Link& link = topology_.link(id);
        schedule.add(reception.step, Op::Copy, c, rank(link.src), rank(link.dst), {&id, 1});
        schedule.add(plan.steps - 1 - reception.step, Op::Reduce, c ^ 1U, rank(link.dst),
                     rank(link.src), {&mate, 1});
      }
    }
    schedule.canonicalize();
    return schedule;
  }

  const Topology& topology_;
  Distances distances_;
  Rotation rotation_;
  Planner planner_;
  std::uint32_t least_;  // steps for which there may be a plan
  std::uint64_t effort_left_, seed_ = 10;
  std::optional<Trees> found_;
};

}  // namespace

std::optional<Schedule> grow_mirrored(const Topology& topology, std::uint32_t chunks,
                                      std::uint32_t most_steps) {
  return Search(topology, chunks).run(most_steps);
}

}  // namespace multitree
