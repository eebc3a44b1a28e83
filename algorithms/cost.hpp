// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Predicted time of a schedule: alpha-beta links with contention.
#pragma once

#include <cstdint>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What a transfer costs beyond its links.
struct CostModel {
  /// Time that a message occupies its sender, whatever its size (LogP's o): sends of one rank
  /// follow each other at least so far apart. 0: links are all there is.
  Time message_overhead{};
};

/// Time of the collective on `bytes` (nccl-tests' size: of the whole vector) when every transfer
/// starts as soon as its data and all links of its route are free, without barriers between steps.
/// A link is busy for chunk bytes / bandwidth per transfer, serves transfers in schedule order, and
/// adds its latency to the arrival (Hockney alpha-beta; cut-through along a route; reduction is
/// free; CostModel adds to that). \throws Error(Unsupported) if that is more than 106 days, the
/// most that a Time holds.
Time predict_time(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                  const CostModel& model = {});

}  // namespace multitree
