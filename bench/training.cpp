// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast iterations are priced and planned: evaluations a second of each policy, the time of a
/// search for groups, and the time of a plan, on one core. usage: bench_training [MODEL [FLOPS]]
///
/// Without a model: BERT-Large, 201 layers, 398 tensors. The last column is how many times better
/// than its target a figure is: 10^6 evaluations a second of policies that send in order and are
/// priced, 10^4 of those that choose by costs or preempt, 10 ms for a plan.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "topologies/error.hpp"
#include "training/plan.hpp"
#include "training/policies.hpp"
#include "training/pricer.hpp"

namespace {

using multitree::training::Costs;
using multitree::training::Model;

/// What the figures are to reach.
constexpr double kInOrder = 1e6, kOthers = 1e4;  // evaluations a second
constexpr double kPlan = 10e-3;                  // seconds

/// The costs of mesh:8x8.
constexpr multitree::training::Affine kMesh{4e-6, 3.57617e-11};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one evaluation at other costs each time, the median of 5 batches of at least 20 ms.
template <typename Evaluate>
double price(const Evaluate& evaluate) {
  constexpr int kAtOnce = 16;  // between looks at the clock
  std::vector<double> batches;
  for (int batch = 0; batch < 5; ++batch) {
    const double begin = seconds_now();
    int count = 0;
    double sum = 0;
    while (seconds_now() - begin < 0.02) {
      for (int i = 0; i < kAtOnce; ++i) {
        sum += evaluate(Costs::symmetric({1e-3 + 1e-9 * ++count, 1e-9}));
      }
    }
    if (!(sum > 0)) std::abort();
    batches.push_back((seconds_now() - begin) / count);
  }
  std::ranges::nth_element(batches, batches.begin() + 2);
  return batches[2];
}

/// \param least evaluations a second that are the target; 0: there is none
void print(const std::string& what, double seconds, double least) {
  const std::string ratio = least > 0 ? fmt::format("{:.1f}", 1 / (seconds * least)) : "-";
  fmt::print("{:<32}{:>12.2f}{:>16.0f}{:>12}\n", what, seconds * 1e6, 1 / seconds, ratio);
}

void print_evaluations(const Model& model) {
  fmt::print("{:<32}{:>12}{:>16}{:>12}\n", "policy", "us", "evaluations/s", "over target");
  std::vector<std::string> policies;
  for (const auto& row : multitree::training::policies()) policies.emplace_back(row.name);
  policies.insert(policies.end(),
                  {"ddp?bucket=search", "dear?fusion=search", "dear?fusion=search&barrier=no"});
  for (const std::string& policy : policies) {
    const bool in_order = policy != "mg-wfbp" && policy != "bytescheduler" && policy != "priority";
    print(policy, price([&](const Costs& costs) {
            return multitree::training::simulate(policy, model, costs).seconds;
          }),
          in_order ? 0 : kOthers);
  }
  for (const std::string policy : {"bsp", "wfbp", "ddp", "dear", "dear?fusion=none"}) {
    const multitree::training::Pricer pricer(policy, model);
    print(policy + ", priced", price([&](const Costs& costs) { return pricer.seconds(costs); }),
          kInOrder);
  }
}

/// The same policies as plans, and what they send: an iteration, its transfers in their order, and
/// where `order` is open or groups are searched for, all that is compared for that.
void print_plans(const Model& model) {
  fmt::print("\n{:<32}{:>12}{:>16}{:>12}\n", "plan", "us", "transfers", "over target");
  for (const std::string policy :
       {"bsp", "wfbp", "ddp", "ddp?bucket=search", "horovod", "mg-wfbp", "bytescheduler", "dear",
        "dear?fusion=search&barrier=no", "priority", "priority?order=serial",
        "priority?order=either", "priority?order=overlapping"}) {
    std::size_t transfers = 0;
    const double seconds = price([&](Costs costs) {
      costs = Costs::symmetric({kMesh.start + 1e-6 * costs.all_reduce.start, kMesh.per_byte});
      const auto plan = multitree::training::make_plan(policy, model, costs, "allreduce-optimal");
      transfers = plan.transfers.size();
      return plan.seconds;
    });
    fmt::print("{:<32}{:>12.2f}{:>16}{:>12.1f}\n", policy, seconds * 1e6, transfers,
               kPlan / seconds);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const multitree::training::Machine machine =
      argc > 2 ? multitree::training::Machine{.flops = std::atof(argv[2])}
               : multitree::training::reference_machine();
  const Model model = multitree::training::read_model(argc > 1 ? argv[1] : "bert_large", machine);
  std::size_t tensors = 0;
  for (const auto& layer : model.layers) tensors += layer.tensors.size();
  fmt::print("# {}: {} layers, {} tensors; medians of 5 batches on one core\n", model.name,
             model.layers.size(), tensors);
  print_evaluations(model);
  print_plans(model);
} catch (const multitree::Error& error) {
  fmt::print(stderr, "bench_training: {}\n", error.what());
  return 1;
}
