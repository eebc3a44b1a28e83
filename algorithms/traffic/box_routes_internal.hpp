// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-to-alls between boxes whose ranks help each other out of the box and in.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/traffic/routed_demand.hpp"

namespace multitree {

/// Ranks on one switch of their box and on one switch between the boxes, each by a cable both ways.
struct Boxes {
  struct Member {
    std::uint32_t box = 0;
    LinkId to_box{}, from_box{};  ///< to the switch of its box and from there
    LinkId out{}, in{};           ///< to the switch between the boxes and from there
  };
  std::vector<Member> ranks;
  std::vector<std::vector<Rank>> members;  ///< by box
};

/// Empty where the network is not of this kind with at least two boxes, or the cables between the
/// boxes are not all equally fast.
std::optional<Boxes> find_boxes(const Topology& topology);

/// Paths that load all outer cables of a box alike, each way: what a rank has more than its part
/// goes through others of the box, and likewise where it arrives. A rank's own cable goes first.
/// O(ranks^2).
std::vector<FlowPath> route_between_boxes(const Boxes& boxes, const Demand& demand,
                                          std::uint64_t parts);

/// Prices of the links that must carry most in their time: the outer cables of a box one way, or
/// all links of a rank one way.
std::vector<double> prices_of_ports(const Boxes& boxes, const Demand& demand,
                                    const Topology& topology);

}  // namespace multitree
