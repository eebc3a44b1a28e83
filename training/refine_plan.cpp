// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Pieces of schedules by simulation of whole iterations.
#include <fmt/format.h>

#include <array>
#include <string>

#include "topologies/spec.hpp"
#include "training/plan.hpp"

namespace multitree::training {
namespace {

/// Of `fill` of allreduce-optimal, beside its default of 15. How a plan's time depends on it is
/// rugged, as transfers under way at once meet at links in another order.
constexpr std::array kFills{12, 10, 8, 6};

bool has_choice(const Plan& plan) {
  const Spec spec = Spec::parse(plan.algorithm);
  return plan.order == Order::Preemptive && spec.name() == "allreduce-optimal" &&
         !spec.has("fill") && !spec.has("segments");
}

std::string with_fill(const std::string& algorithm, int fill) {
  const char sign = algorithm.find('?') == std::string::npos ? '?' : '&';
  return fmt::format("{}{}fill={}", algorithm, sign, fill);
}

}  // namespace

Plan refine_plan(const Plan& plan, const Topology& topology, nic::Model model) {
  if (!has_choice(plan)) return plan;
  const std::string given = Spec::parse(plan.algorithm).text();
  Plan best = plan, other = plan;
  double least = simulate_plan(plan, topology, model).seconds;
  for (const int fill : kFills) {
    other.algorithm = with_fill(given, fill);
    const double seconds = simulate_plan(other, topology, model).seconds;
    if (seconds >= least) continue;
    best.algorithm = other.algorithm;
    least = seconds;
  }
  return best;
}

}  // namespace multitree::training
