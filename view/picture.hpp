// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network and what is shown in it as one SVG file.
#pragma once

#include <string>

#include "topologies/topology.hpp"
#include "view/scene.hpp"

namespace multitree::view {

/// SVG, UTF-8, at most 1600 pixels wide and high; `title` stands above, scene.told and the legend
/// below. The same arguments give the same bytes.
std::string write_picture(const Topology& topology, const Scene& scene, const std::string& title);

}  // namespace multitree::view
