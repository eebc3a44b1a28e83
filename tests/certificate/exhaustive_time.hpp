// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The least time of a collective on a tiny tree of links, by trying all orders of all messages.
#pragma once

#include <cstdint>

#include "algorithms/collective.hpp"
#include "topologies/topology.hpp"

namespace multitree::test {

/// In picoseconds, for data that cannot be cut: `chunks` of equal size of the root (Broadcast), of
/// each rank (AllGather), or for each rank (Scatter). A message carries any of the chunks that its
/// sender has. \pre Between two nodes there is one way.
std::int64_t exhaustive_time(const Topology& topology, Collective collective, std::uint32_t chunks,
                             std::uint64_t bytes, Time message_overhead);

}  // namespace multitree::test
