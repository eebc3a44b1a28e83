// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network as a file spells it, before it is a Topology: what all readers share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "topologies/topology.hpp"
#include "topologies/topology_error_internal.hpp"

namespace multitree {

struct RawNode {
  std::string name;
  std::optional<std::uint32_t> rank;
  bool is_switch = false;  ///< said so explicitly
  SwitchAbilities abilities = {};
};

struct RawNetwork {
  std::string name;
  Shape shape;
  std::vector<RawNode> nodes;
  std::vector<Link> links;
};

/// Reports what is wrong with a node or link; must throw, with the line of that part.
using ReportError =
    std::function<void(TopologyPart part, std::size_t index, const std::string& what)>;

/// Builds the Topology. If any node has a rank, those without are switches; if none has, all that
/// are not said to be switches get ranks in file order.
Topology build_topology(RawNetwork network, const ReportError& report);

/// "4x8" <-> {4, 8}; the empty text is no sizes. Empty optional if it is no such text.
std::optional<std::vector<std::uint32_t>> parse_shape_dims(const std::string& text);
std::string format_shape_dims(const Shape& shape);

}  // namespace multitree
