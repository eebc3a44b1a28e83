// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Switches that add and copy, as interfaces see them.
#pragma once

#include <cstdint>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// A schedule whose switches are ranks behind the others (Schedule::helpers), and their network.
struct SwitchesAsRanks {
  Topology topology;
  Schedule schedule;
};

/// What a schedule in which switches add and copy sends, with an interface at each such switch: it
/// takes a message in, adds it or copies it to its outputs as a rank does, and passes it on when it
/// has all of it. What a switch holds before does not matter: of what it sums, it stores the first
/// and adds the others to that, in the order of the steps. An all-reduce along one tree there and
/// back ends, and its result begins, in the middle of the tree and not at the rank that the
/// schedule has as its root: half the way for the last to arrive. Chunks are those of `elements`,
/// without those that have none, and weigh as much as they have of them; a tree of more pieces than
/// the hardware has numbers for is several flows. Steps are as few as the order of messages on each
/// link, and of reads and writes of each chunk, lets them be. \pre the schedule verifies on the
/// topology. \throws Error(Unsupported) if a switch is to work for two sums of a chunk in one step.
SwitchesAsRanks switches_as_ranks(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t elements);

/// In hardware a switch that adds or copies has an interface as ranks have, with an engine for each
/// of its links. \throws Error(Unsupported) naming a switch that may work for some messages only at
/// once: it would work for all.
void expect_hardware_switches(const Topology& topology);

}  // namespace multitree::nic
