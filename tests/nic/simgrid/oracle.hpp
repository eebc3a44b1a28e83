// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long a schedule takes on SimGrid's fluid network model: an oracle that shares no code with
/// ours. https://simgrid.org (Casanova et al., JPDC 2014)
#pragma once

#include <cstdint>

#include "algorithms/schedule.hpp"
#include "tests/nic/simgrid/message_graph.hpp"
#include "topologies/topology.hpp"

namespace multitree::test {

/// Cycles of 1 ns until the last message has arrived. Every rank sends on all its links at once; a
/// link takes its rank's messages in the order of the table, each when the one before has left and
/// what it needs has arrived whole. Links that several messages use at a time are shared max-min
/// fairly; links hold nothing back, so a message is everywhere on its route at the same time.
///
/// Runs in a process of its own, as SimGrid has one engine a process. O(messages) memory.
/// \throws std::runtime_error if SimGrid fails or leaves messages unsent.
std::uint64_t simgrid_cycles(const Schedule& schedule, const Topology& topology,
                             std::uint64_t bytes, const FlowControl& flow_control = {});

}  // namespace multitree::test
