// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Pieces of schedules by simulation of whole iterations.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "algorithms/schedule_store_internal.hpp"
#include "algorithms/tuning/candidates_internal.hpp"
#include "topologies/spec.hpp"
#include "training/plan.hpp"

namespace multitree::training {
namespace {

/// Of `fill` of allreduce-optimal, beside its default of 15. How a plan's time depends on it is
/// rugged, as transfers under way at once meet at links in another order; so the first are all
/// tried. Small models gain from pieces that are finer still: these are tried as long as that pays.
constexpr std::array kFills{12, 10, 8, 6, 4, 3, 2, 1};
constexpr int kFinestOfAll = 6;
/// Times the bound: nothing to gain that a table of thousandths would show.
constexpr double kAtTheBound = 1.0005;

bool has_choice(const Plan& plan) {
  const Spec spec = Spec::parse(plan.algorithm);
  return plan.order == Order::Preemptive && spec.name() == "allreduce-optimal" &&
         !spec.has("fill") && !spec.has("segments");
}

std::string with_fill(const std::string& algorithm, int fill) {
  const char sign = algorithm.find('?') == std::string::npos ? '?' : '&';
  return fmt::format("{}{}fill={}", algorithm, sign, fill);
}

/// A plan with the schedules that it runs on.
struct Trial {
  Trial(Plan of_it, const Topology& topology)
      : plan(std::move(of_it)), schedules(plan, topology, Time{}) {}
  Plan plan;
  PlanSchedules schedules;
};

/// Whether all transfers run on schedules that do the same, so that they take the same.
bool run_alike(Trial& a, Trial& b) {
  std::set<std::pair<const Schedule*, const Schedule*>> known;
  for (const PlannedTransfer& transfer : a.plan.transfers) {
    const Schedule& one = a.schedules.of(transfer.collective, transfer.bytes);
    const Schedule& other = b.schedules.of(transfer.collective, transfer.bytes);
    if (known.insert({&one, &other}).second && !are_alike(one, other)) return false;
  }
  return true;
}

}  // namespace

RefinedPlan refine_plan(const Plan& plan, const Topology& topology, nic::Model model,
                        double bound) {
  if (!has_choice(plan)) return {plan, simulate_plan(plan, topology, model)};
  // Trees are packed once, and what does not depend on pieces is neither made nor simulated again.
  ScheduleStore store(topology);
  const ScheduleStore::Use sharing(store);
  const std::string given = Spec::parse(plan.algorithm).text();
  const auto simulated = [&](Trial& trial) {
    return simulate_plan(trial.plan, trial.schedules, topology, model);
  };
  Trial first(plan, topology);
  std::unique_ptr<Trial> before;
  RefinedPlan best{plan, simulated(first)};
  for (const int fill : kFills) {
    if (best.times.seconds <= kAtTheBound * bound) break;
    Plan finer = plan;
    finer.algorithm = with_fill(given, fill);
    auto trial = std::make_unique<Trial>(std::move(finer), topology);
    if (run_alike(first, *trial) || (before && run_alike(*before, *trial))) continue;
    SimulatedPlan times = simulated(*trial);
    if (times.seconds < best.times.seconds) {
      best = {trial->plan, std::move(times)};
    } else if (fill < kFinestOfAll) {
      break;
    }
    before = std::move(trial);
  }
  return best;
}

}  // namespace multitree::training
