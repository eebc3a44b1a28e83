// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Orders and pieces of schedules by simulation of whole iterations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/packing/trees/boxes.hpp"
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
/// Of overlapping plans.
constexpr std::array<std::string_view, 3> kPieces{"128KiB", "64KiB", "32KiB"};

bool has_option(const Spec& spec, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return spec.has(key); });
}

/// Whether the plan's algorithm says nothing of pieces.
bool leaves_pieces(const Plan& plan) {
  const Spec spec = Spec::parse(plan.algorithm);
  return spec.name() == "allreduce-optimal" && !has_option(spec, {"fill", "segments", "piece"});
}

bool leaves_order(const Plan& plan) {
  const Spec spec = Spec::parse(plan.policy);
  return spec.name() == "priority" && !has_option(spec, {"order", "part"});
}

std::string with_option(const std::string& given, const std::string& option) {
  const std::string text = Spec::parse(given).text();
  return fmt::format("{}{}{}", text, text.find('?') == std::string::npos ? '?' : '&', option);
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

/// Simulations of a plan and of what may be in its place.
class Refinement {
 public:
  Refinement(const Topology& topology, nic::Model model, double bound)
      : topology_(topology), model_(model), bound_(bound) {}

  /// Whether it takes less than all before it.
  bool try_one(Trial& trial) {
    SimulatedPlan times = simulate_plan(trial.plan, trial.schedules, topology_, model_);
    if (best_ && times.seconds >= best_->times.seconds) return false;
    best_ = {trial.plan, std::move(times)};
    return true;
  }
  void try_orders(const Plan& plan, const Costs& costs);
  void try_fills(Trial& first);
  [[nodiscard]] bool is_at_bound() const {
    return best_ && best_->times.seconds <= kAtTheBound * bound_;
  }
  [[nodiscard]] RefinedPlan take() { return *std::move(best_); }

 private:
  const Topology& topology_;
  nic::Model model_;
  double bound_;
  std::optional<RefinedPlan> best_;
};

/// Overlapping plans in pieces of one size.
void Refinement::try_orders(const Plan& plan, const Costs& costs) {
  for (const std::string_view piece : kPieces) {
    if (is_at_bound()) return;
    Plan other = make_plan(with_option(plan.policy, "order=overlapping"), plan.model, costs,
                           with_option(plan.algorithm, fmt::format("piece={}", piece)));
    other.policy = plan.policy;
    Trial trial(std::move(other), topology_);
    try_one(trial);
  }
}

/// The plan with pieces for other fills.
void Refinement::try_fills(Trial& first) {
  std::unique_ptr<Trial> before;
  for (const int fill : kFills) {
    if (is_at_bound()) return;
    Plan finer = first.plan;
    finer.algorithm = with_option(finer.algorithm, fmt::format("fill={}", fill));
    auto trial = std::make_unique<Trial>(std::move(finer), topology_);
    if (run_alike(first, *trial) || (before && run_alike(*before, *trial))) continue;
    if (!try_one(*trial) && fill < kFinestOfAll) return;
    before = std::move(trial);
  }
}

}  // namespace

RefinedPlan refine_plan(const Plan& plan, const Costs& costs, const Topology& topology,
                        nic::Model model, double bound) {
  // Trees are packed once, and what does not depend on pieces is neither made nor simulated again.
  ScheduleStore store(topology);
  const ScheduleStore::Use sharing(store);
  Refinement refinement(topology, model, bound);
  Trial first(plan, topology);
  refinement.try_one(first);
  if (!leaves_pieces(plan)) return refinement.take();
  if (leaves_order(plan) && pack_boxes(topology)) refinement.try_orders(plan, costs);
  if (plan.order == Order::Preemptive) refinement.try_fills(first);
  return refinement.take();
}

}  // namespace multitree::training
