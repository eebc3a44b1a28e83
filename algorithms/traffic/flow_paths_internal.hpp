// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flows over links to whole parts on paths.
#pragma once

#include <vector>

#include "algorithms/traffic/concurrent_flow_internal.hpp"
#include "algorithms/traffic/routed_demand.hpp"

namespace multitree {

/// Parts in which a unit of the demand is counted, as many as weights have room for.
std::uint64_t parts_of(const Demand& demand);

/// Paths that carry nearly what the flow does: shares below 1/64 of a pair go with its others.
std::vector<FlowPath> paths_of(const ConcurrentFlow& flow, const Demand& demand,
                               std::uint64_t parts, const Topology& topology);

}  // namespace multitree
