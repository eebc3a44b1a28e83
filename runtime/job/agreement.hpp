// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether all ranks are about to run the same.
#pragma once

#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// Collective. Ranks that disagree about a schedule would wait for each other until the deadline;
/// this says so instead. \throws Error(InvalidArgument) at every rank, naming one that differs from
/// rank 0; as Bootstrap::all_gather().
void check_agreement(const std::vector<SizedSchedules>& plans, Bootstrap& bootstrap,
                     Deadline deadline);

}  // namespace multitree::runtime
