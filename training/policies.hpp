// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Policies of communication by name: "wfbp", "ddp?bucket=10MiB".
#pragma once

#include <span>
#include <string_view>

#include "training/iteration.hpp"

namespace multitree {
class Spec;
}

namespace multitree::training {

/// From the times at which gradients are there to those at which layers run again. run() reads its
/// parameters from `options`.
struct Policy {
  std::string_view name;
  std::string_view summary;          ///< one line
  std::string_view source;           ///< where it is from
  std::string_view parameters = {};  ///< its options, documented
  Iteration (*run)(const Model& model, const Costs& costs, const Spec& options);
  bool halves = false;  ///< looks at what reduce-scatters and all-gathers cost
};

/// All of them; those that are compared with come first, ours last.
std::span<const Policy> policies();

/// Of a policy with its options: Policy::halves. False if there is none of its name.
bool has_halves(std::string_view policy);

/// \throws Error(InvalidArgument) listing the names, or naming an option.
Iteration simulate(std::string_view policy, const Model& model, const Costs& costs);

}  // namespace multitree::training
