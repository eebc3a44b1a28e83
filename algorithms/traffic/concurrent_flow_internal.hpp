// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flows of all ranks at once: least load, and prices that prove how near it is.
#pragma once

#include <vector>

#include "algorithms/traffic/demand.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What each source sends over each link, and prices of links.
struct ConcurrentFlow {
  std::vector<std::vector<double>> of_source;  ///< by rank and link, in the demand's unit
  std::vector<double> price;                   ///< by link; the largest is 1
  double load = 0;                             ///< of the busiest link: unit over bytes per second
  double bound = 0;                            ///< what the prices prove, in the same unit
};

/// Flows whose load is at most (1 + tolerance) times what their prices prove, or as near as
/// `most_rounds` rounds come.
///
/// Prices grow exponentially with what links carry (Garg, Könemann 2007; Fleischer 2000); flow is
/// moved to paths that are cheapest at these prices as far as that helps (Frank, Wolfe 1956), all
/// sources together at first, which keeps the symmetries of the network, then one by one. Prices
/// become steeper from round to round. The same in every run.
ConcurrentFlow route_concurrently(const Topology& topology, const Demand& demand, double tolerance,
                                  unsigned most_rounds);

}  // namespace multitree
