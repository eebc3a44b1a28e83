// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What prices of links prove of an all-to-all. Knows nothing of what made them.
#pragma once

#include <string>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The bound in shard times; 0 if nothing is priced. \pre no faults as below.
/// O(ranks * links * log nodes), in whole numbers of any size.
Exact bound_by_prices(const Certificate& certificate, const Topology& topology);

/// What is wrong with the prices of links, each in words; of other collectives that there are any.
std::vector<std::string> faults_of_prices(const Certificate& certificate, const Topology& topology);

/// What is wrong with the form of the demand; empty if nothing is.
std::string fault_of_demand(const Certificate& certificate, const Topology& topology);

/// Where a schedule moves other shares than the demand says; empty if nowhere.
/// \pre as fault_of_demand().
std::string fault_of_moved(const Certificate& certificate, const Schedule& schedule);

}  // namespace multitree
