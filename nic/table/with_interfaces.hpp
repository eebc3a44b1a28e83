// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks whose switches that add and copy have an interface each.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::nic {

/// The same network with an interface at each switch that adds or copies: behind the ranks, in the
/// order of the nodes. Ranks, links and their numbers stay.
Topology with_interfaces(const Topology& topology);

/// Names of the last `helpers` ranks of such a network.
std::vector<std::string> names_of_last(const Topology& topology, std::uint32_t helpers);

}  // namespace multitree::nic
