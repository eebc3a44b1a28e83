// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans as jobs of the network simulators.
#include <fmt/format.h>

#include <cmath>

#include "nic/jobs.hpp"
#include "topologies/error.hpp"
#include "training/network_costs.hpp"
#include "training/plan.hpp"

namespace multitree::training {
namespace {

Time time_of(double seconds) { return Time{std::llround(seconds * 1e12)}; }

/// The jobs of an iteration: backward passes, transfers, forward passes.
class Jobs {
 public:
  Jobs(const Plan& plan, PlanSchedules& schedules) : plan_(plan), schedules_(schedules) {
    const auto layers = static_cast<std::uint32_t>(plan.model.layers.size());
    for (std::uint32_t l = layers; l-- > 0;) add_pass("backward", l, plan.model.layers[l].backward);
    for (const PlannedTransfer& transfer : plan.transfers) add(transfer);
    const std::uint32_t first_forward = next();
    for (std::uint32_t l = 0; l < layers; ++l) {
      add_pass("forward", l, plan.model.layers[l].forward);
    }
    for (std::uint32_t t = 0; t < plan.transfers.size(); ++t) {
      const PlannedTransfer& transfer = plan.transfers[t];
      const std::uint32_t needed_by = plan.together ? 0 : transfer.first;
      const std::uint32_t last = plan.together ? 0 : transfer.last;
      for (std::uint32_t l = needed_by; l <= last; ++l) {
        jobs_[first_forward + l].after.push_back(layers + t);
      }
    }
  }
  [[nodiscard]] const std::vector<nic::Job>& all() const { return jobs_; }

 private:
  [[nodiscard]] std::uint32_t next() const { return static_cast<std::uint32_t>(jobs_.size()); }
  [[nodiscard]] std::uint32_t backward_of(std::uint32_t layer) const {
    return static_cast<std::uint32_t>(plan_.model.layers.size()) - 1 - layer;
  }

  /// After the pass before it; passes of a rank come in this order.
  void add_pass(const char* name, std::uint32_t layer, double seconds) {
    nic::Job job{.name = fmt::format("{} {}", name, plan_.model.layers[layer].name),
                 .computing = time_of(seconds)};
    if (last_pass_ != kNone) job.after = {last_pass_};
    last_pass_ = next();
    jobs_.push_back(std::move(job));
  }

  void add(const PlannedTransfer& transfer) {
    nic::Job job{.name = fmt::format("{} of layers {} to {}", to_string(transfer.collective),
                                     transfer.first, transfer.last),
                 .schedule = &schedules_.of(transfer.collective, transfer.bytes),
                 .bytes = transfer.bytes,
                 .ready = time_of(transfer.hold),
                 .delay = time_of(plan_.call),
                 .priority = transfer.priority,
                 .after = {backward_of(transfer.first)}};
    // Of a group what is gathered was scattered before, and orders of plans keep that.
    if (plan_.order == Order::Serial && last_transfer_ != kNone) {
      job.after.push_back(last_transfer_);
    }
    last_transfer_ = next();
    jobs_.push_back(std::move(job));
  }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const Plan& plan_;
  PlanSchedules& schedules_;
  std::vector<nic::Job> jobs_;
  std::uint32_t last_pass_ = kNone, last_transfer_ = kNone;
};

}  // namespace

SimulatedPlan simulate_plan(const Plan& plan, const Topology& topology, nic::Model model,
                            const std::vector<double>& slowness) {
  PlanSchedules schedules(plan, topology, Time{});
  return simulate_plan(plan, schedules, topology, model, slowness);
}

SimulatedPlan simulate_plan(const Plan& plan, PlanSchedules& schedules, const Topology& topology,
                            nic::Model model, const std::vector<double>& slowness) {
  const Jobs jobs(plan, schedules);
  const nic::Simulation simulation =
      nic::simulate(jobs.all(), topology, interface_for(topology), {.model = model}, slowness);
  if (!simulation.errors.empty()) throw Error(ErrorCode::Unsupported, simulation.errors.front());
  const auto clock = static_cast<double>(simulation.clock_hz);
  const auto time_of_job = [&](std::size_t job) {
    const nic::JobSpan& span = simulation.jobs[job];
    return JobTime{static_cast<double>(span.begin) / clock, static_cast<double>(span.end) / clock};
  };
  const std::size_t layers = plan.model.layers.size(), transfers = plan.transfers.size();
  SimulatedPlan result{
      .seconds = simulation.seconds(), .transfers = {}, .backward = {}, .forward = {}};
  for (std::size_t l = 0; l < layers; ++l) {
    result.backward.push_back(time_of_job(layers - 1 - l));
    result.forward.push_back(time_of_job(layers + transfers + l));
  }
  for (std::size_t t = 0; t < transfers; ++t) result.transfers.push_back(time_of_job(layers + t));
  return result;
}

}  // namespace multitree::training
