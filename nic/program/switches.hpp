// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Switches that add and copy, as the models of interfaces see them.
#pragma once

#include <cstdint>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// A schedule whose switches are ranks behind the others, and their network.
struct SwitchesAsRanks {
  Topology topology;
  Schedule schedule;
};

/// What a schedule in which switches add and copy sends, with an interface at each such switch: it
/// takes a message in, adds it or copies it to its outputs as a rank does, and passes it on when it
/// has all of it. Ranks, links and their numbers stay. Only the times of the result mean something:
/// its chunks are those of `elements`, what switches start with is summed as well, and chunks of no
/// elements are left out. \pre the schedule verifies on the topology.
SwitchesAsRanks switches_as_ranks(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t elements);

}  // namespace multitree::nic
