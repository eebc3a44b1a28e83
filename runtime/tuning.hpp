// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `auto` for a job: schedules by size, the same at every rank.
#pragma once

#include "algorithms/tuning/choose.hpp"
#include "algorithms/tuning/plan.hpp"
#include "runtime/bootstrap.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime {

/// Collective: rank 0 compares all algorithms (choose_specs()) and tells the others, who make the
/// winners only. With the same options, options.links among them, the same in every job; with
/// measure_links() as options.links, by what the links really take. For a Communicator's
/// PlansBySize, one collective each. \throws Error at every rank: as choose_specs(),
/// Error(Transport), Error(Timeout) if rank 0 is not done within `deadline`.
SizedSchedules choose_together(Bootstrap& bootstrap, const Topology& topology,
                               Collective collective, Rank root, const ChooseOptions& options,
                               Deadline deadline);

}  // namespace multitree::runtime
