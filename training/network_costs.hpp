// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What collectives cost on a network.
#pragma once

#include <string_view>

#include "nic/simulate.hpp"
#include "topologies/topology.hpp"
#include "training/costs.hpp"

namespace multitree::training {

/// Interfaces and routers whose buffers hold what the links carry while credits are on the way.
nic::Parameters interface_for(const Topology& topology);

/// Seconds of an algorithm's schedule for so many bytes. \throws Error as network_costs()
double collective_seconds(const Topology& topology, std::string_view algorithm,
                          Collective collective, nic::Model model, std::uint64_t bytes);

/// Of an algorithm's schedules for the three collectives, by a model of the network: what 4 KiB
/// take, and for each byte what one of 64 MiB takes. So it is never less than the bound of
/// `multitree bounds`, and a little too much where both count. \param halves false: for policies
/// that do not look at what reduce-scatters and all-gathers cost (Policy::halves), which are then
/// not simulated. \throws Error as make_schedule(), nic::simulate()
Costs network_costs(const Topology& topology, std::string_view algorithm, nic::Model model,
                    double call = 0, bool halves = true);

}  // namespace multitree::training
