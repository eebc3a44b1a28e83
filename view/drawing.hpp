// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network as lines and places, for pages and pictures alike.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.hpp"
#include "view/layout.hpp"

namespace multitree::view {

/// A link as a quadratic curve, beside the straight line between its nodes: the two directions of a
/// cable lie apart, parallel links part, and what would pass over other nodes goes around them.
struct Curve {
  Point from, control, to;
  Point label;  ///< for a number, where those of a cable's two directions stand apart
};

/// In units of layout().
struct Drawing {
  std::vector<Point> nodes;  ///< by NodeId
  std::vector<Curve> links;  ///< by LinkId
  Point corner, size;        ///< of all, with a margin
  double line = 1;           ///< how much thicker lines are, as large networks are drawn small
};

/// The same network gives the same drawing. Nodes have the places that layout() gives those of
/// `places_of`, which has as many. O(nodes + links).
Drawing drawing_of(const Topology& topology, const Topology& places_of);
Drawing drawing_of(const Topology& topology);

/// By NodeId, what stands below it: its name, without its middle where that is long. Empty where
/// names of ranks say no more than their numbers, as those of families that have none ("n5").
std::vector<std::string> labels_of(const Topology& topology);
/// "rank 5", and with its name where there are labels: "rank 5 (desk3)".
std::string words_of(const Topology& topology, Rank rank);

}  // namespace multitree::view
