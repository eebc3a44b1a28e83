// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-to-alls as schedules, with certificates.
#pragma once

#include "algorithms/schedule.hpp"
#include "algorithms/traffic/routed_demand.hpp"

namespace multitree {

/// Every path of a routed demand as messages from rank to rank (through switches a path is one
/// message, at ranks it is passed on), each in the earliest step in which its links are free,
/// longest paths first. What a rank keeps makes every rank's shard equally large, however much it
/// sends. Verified.
/// \throws std::logic_error if it does not verify (a bug of ours)
Schedule all_to_all_schedule(const RoutedDemand& routed, const Demand& demand,
                             const Topology& topology);

/// What a schedule of an all-to-all moves. \pre schedule.collective is AllToAll
Demand demand_of(const Schedule& schedule);

}  // namespace multitree
