// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the nodes of a network are drawn.
#pragma once

#include <vector>

#include "topologies/topology.hpp"

namespace multitree::view {

/// In units of the distance between neighbours; y grows downwards.
struct Point {
  double x = 0, y = 0;
  bool operator==(const Point&) const = default;
};

/// A place for each node, by NodeId: grids as grids (dimensions beyond the second as blocks beside
/// and below each other), networks with switches in levels, ranks at the bottom (one switch: in the
/// middle of its ranks), all others around a circle. No two nodes share a place.
std::vector<Point> layout(const Topology& topology);

}  // namespace multitree::view
