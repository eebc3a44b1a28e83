// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is shown of a schedule in the drawing of its network.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree::view {

/// Of Okabe and Ito: colour-blind readers can tell them apart. Pages use the same.
inline constexpr std::string_view kReduceColour = "#D55E00", kCopyColour = "#0072B2",
                                  kFarColour = "#f0c27b", kIdleColour = "#e2e5e9";
/// From idle to busiest; lightness falls steadily, so grey print shows the same order.
inline constexpr std::array<std::array<int, 3>, 5> kShades{
    {{222, 235, 247}, {158, 202, 225}, {66, 146, 198}, {8, 69, 148}, {8, 29, 88}}};

struct Look {
  std::string colour;
  double width = 0.07;  ///< in units of layout()
  bool dashed = false;
  std::uint32_t number = 0;  ///< that stands beside the link; 0: none
};

struct Scene {
  std::map<std::uint32_t, Look> links;                      ///< by LinkId; others are idle
  std::map<std::uint32_t, std::string> nodes;               ///< by NodeId, a colour
  std::vector<std::pair<std::string, std::string>> legend;  ///< colour and words
  std::string told;                                         ///< a sentence
};

/// For how long each link is busy, in seconds, with a buffer of `bytes`.
std::vector<double> busy_seconds(const Schedule& schedule, const Topology& topology,
                                 std::uint64_t bytes);

/// The network alone.
Scene scene_of(const Topology& topology);
/// Links by how long they are busy. \pre bytes > 0
Scene load_scene(const Schedule& schedule, const Topology& topology, std::uint64_t bytes);
/// The messages of a step, from 0. \throws Error(InvalidArgument): no such step
Scene step_scene(const Schedule& schedule, const Topology& topology, std::uint32_t step);
/// The messages of a tree's first chunk, with the steps in which they pass, from 1. \throws
/// Error(InvalidArgument): no such tree
Scene tree_scene(const Schedule& schedule, const Topology& topology, std::uint32_t tree);
/// A cut of a certificate, from 0, with what passes over it. \throws Error(InvalidArgument): no
/// such cut
Scene cut_scene(const Certified& certified, const Topology& topology, std::uint32_t cut);

}  // namespace multitree::view
