// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A matrix routed over a network: paths, their load, and the proof that none is much less.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/traffic/demand.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// What goes one way from a rank to another.
struct FlowPath {
  Rank source{}, target{};
  std::uint64_t weight = 0;   ///< > 0, in parts of the demand's unit
  std::vector<LinkId> links;  ///< passes no node twice
};

struct RoutedDemand {
  /// All paths of a pair together have its demand times `parts`.
  std::vector<FlowPath> paths;
  std::uint64_t parts = 1;
  /// Of the busiest link, in shard times, exact.
  Exact load = 0;
  Certificate certificate;
};

/// How near to its bound routing is brought where it is not exact.
inline constexpr double kRoutingTolerance = 0.005;

/// Exactly the least load where the demand is uniform and the network is a Cayley graph with equal
/// links; between boxes of ranks, as DGX clusters are, within a rounding of it where the cables
/// between the boxes decide; elsewhere about (1 + tolerance) times the bound at most, on most
/// networks. \pre demand.ranks() == topology.num_ranks()
RoutedDemand route_demand(const Topology& topology, const Demand& demand,
                          double tolerance = kRoutingTolerance);

/// The load of the busiest link if `paths` were the routes, in shard times of the demand.
Exact load_of_paths(const std::vector<FlowPath>& paths, std::uint64_t parts, const Demand& demand,
                    const Topology& topology);

}  // namespace multitree
