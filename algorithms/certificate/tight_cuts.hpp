// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All the places where an all-gather is as tight as at its bottleneck.
#pragma once

#include <vector>

#include "algorithms/bounds.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Far sides of cuts that attain the all-gather bound, no two with a rank in common: rank by rank
/// the smallest around it, unless it is on one already or there is none. Nodes ascending. One flow
/// a rank that is on none before.
/// \pre bounds = compute_bounds(topology).
[[nodiscard]] std::vector<std::vector<NodeId>> tight_far_sides(const Topology& topology,
                                                               const Bounds& bounds);

}  // namespace multitree
