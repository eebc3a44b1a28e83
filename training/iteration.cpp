// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Computing, around what a policy sends.
#include "training/iteration.hpp"

#include <algorithm>

namespace multitree::training {

std::vector<double> ready_times(const Model& model) {
  std::vector<double> ready(model.layers.size());
  double now = 0;
  for (std::size_t l = model.layers.size(); l-- > 0;) {
    now += model.layers[l].backward;
    ready[l] = now;
  }
  return ready;
}

Iteration finish(const Model& model, const std::vector<double>& done,
                 std::vector<Transfer> transfers) {
  Iteration iteration{.seconds = model.backward(), .transfers = std::move(transfers), .runs = {}};
  iteration.runs.reserve(model.layers.size());
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    iteration.runs.push_back(std::max(iteration.seconds, done[l]));
    iteration.seconds = iteration.runs.back() + model.layers[l].forward;
  }
  return iteration;
}

}  // namespace multitree::training
