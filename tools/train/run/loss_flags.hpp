// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flags of `multitree train run` for sums that go on without ranks that are late.
#pragma once

#include <optional>
#include <string>

#include "runtime/counted/counted_sums.hpp"
#include "tools/command.hpp"
#include "tools/train/run/worker.hpp"
#include "training/plan.hpp"

namespace multitree::tools {

struct LossFlags {
  std::optional<double> budget;
  std::string deadline = "20ms", straggler;
};

void add_loss_flags(CLI::App& app, LossFlags& flags);

/// Empty without a budget. \throws Error naming the flag
std::optional<runtime::LossBounds> loss_bounds(const LossFlags& flags, runtime::Deadline timeout);
/// Empty without one. \throws Error naming the flag
std::optional<Straggler> straggler_of(const LossFlags& flags, std::uint32_t ranks);
/// \throws Error(InvalidArgument), for a flag to be put before, unless the plan has all-reduces
/// only
void check_all_reduces(const training::Plan& plan);

}  // namespace multitree::tools
