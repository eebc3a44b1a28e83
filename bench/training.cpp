// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast iterations are priced: evaluations a second of each policy, and the time of a search
/// for groups, on one core. usage: bench_training [MODEL [FLOPS]]
///
/// Without a model: 201 layers as BERT-Large has them, 398 tensors.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "topologies/error.hpp"
#include "training/policies.hpp"
#include "training/pricer.hpp"

namespace {

using multitree::training::Costs;
using multitree::training::Model;

/// An embedding, 24 blocks of 8 layers, and what is behind them.
Model transformer() {
  Model model{"201 layers", {{"embedding", 0, 0, {125'000'000}}}};
  constexpr std::uint64_t kWidth = 1024;
  for (int block = 0; block < 24; ++block) {
    for (const std::uint64_t outputs : {1, 1, 1, 1, 0, 4, 4, 0}) {
      const double seconds = 60e-6 * static_cast<double>(std::max<std::uint64_t>(outputs, 1));
      const std::uint64_t rows = outputs == 0 ? 1 : outputs * kWidth;
      model.layers.push_back({"layer", seconds, 2 * seconds, {4 * rows * kWidth, 4 * kWidth}});
    }
  }
  for (int last = 0; last < 8; ++last) model.layers.push_back({"head", 1e-5, 2e-5, {4 * kWidth}});
  return model;
}

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

void print(const std::string& what, double seconds) {
  fmt::print("{:<32}{:>12.2f}{:>16.0f}\n", what, seconds * 1e6, 1 / seconds);
}

}  // namespace

int main(int argc, char** argv) try {
  const Model model = argc > 1 ? multitree::training::read_model(
                                     argv[1], {.flops = argc > 2 ? std::atof(argv[2]) : 0})
                               : transformer();
  std::size_t tensors = 0;
  for (const auto& layer : model.layers) tensors += layer.tensors.size();
  fmt::print("# {}: {} layers, {} tensors; medians of 5 batches on one core\n", model.name,
             model.layers.size(), tensors);
  fmt::print("{:<32}{:>12}{:>16}\n", "policy", "us", "evaluations/s");
  std::vector<std::string> policies;
  for (const auto& row : multitree::training::policies()) policies.emplace_back(row.name);
  policies.insert(policies.end(),
                  {"ddp?bucket=search", "dear?fusion=search", "dear?fusion=search&barrier=no"});
  for (const std::string& policy : policies) {
    print(policy, price([&](const Costs& costs) {
            return multitree::training::simulate(policy, model, costs).seconds;
          }));
  }
  for (const std::string policy : {"bsp", "wfbp", "ddp", "dear", "dear?fusion=none"}) {
    const multitree::training::Pricer pricer(policy, model);
    print(policy + ", priced", price([&](const Costs& costs) { return pricer.seconds(costs); }));
  }
} catch (const multitree::Error& error) {
  fmt::print(stderr, "bench_training: {}\n", error.what());
  return 1;
}
