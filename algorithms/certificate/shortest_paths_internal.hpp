// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cheapest paths under link prices.
#pragma once

#include <vector>

#include "algorithms/certificate/metric_trees_internal.hpp"

namespace multitree {

/// Which nodes a path may have between its ends.
enum class Through { Switches, AnyNode };

struct Paths {
  std::vector<Price> distance;  ///< by node; more than all links together where there is no path
  std::vector<LinkId> arrival;  ///< last link of the path
  std::vector<NodeId> from;     ///< where the path begins; the node itself where there is none
};

/// From the nearest of `sources` to each node.
Paths cheapest_paths(const Topology& topology, const std::vector<Price>& price,
                     const std::vector<NodeId>& sources, Through through);

/// The path that `arrival` of Paths tells.
std::vector<LinkId> path_to(const Topology& topology, const std::vector<LinkId>& arrival,
                            NodeId from, NodeId to);

}  // namespace multitree
