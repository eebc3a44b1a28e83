// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Iterations as timelines for Perfetto.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "training/plan.hpp"

namespace multitree::tools {

/// "allreduce conv1 to fc3".
std::string name_of(const training::PlannedTransfer& transfer, const training::Model& model);

/// What a plan expects of itself.
training::SimulatedPlan expected_of(const training::Plan& plan);

/// Times of a plan's transfers and of its passes, one below the other, each with what its rows'
/// names begin with. A trace as JSON.
std::string timeline_of(
    const training::Plan& plan,
    const std::vector<std::pair<std::string, training::SimulatedPlan>>& timelines);

}  // namespace multitree::tools
