// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network on its way to another one: what is gone, slower or doubled, in the terms of the
/// original.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

struct Draft {
  explicit Draft(const Topology& topology)
      : original(topology),
        gone(topology.num_nodes(), false),
        links(topology.links().begin(), topology.links().end()),
        copies(topology.num_links(), 1) {
    for (const Node& node : topology.nodes()) abilities.push_back(node.abilities);
  }

  const Topology& original;
  std::vector<bool> gone;                  ///< of nodes: with all their links
  std::vector<SwitchAbilities> abilities;  ///< of nodes
  std::vector<Link> links;                 ///< with their new bandwidths
  std::vector<std::uint64_t> copies;       ///< of each link; 0: it is gone
  /// The ranks that take part, in their new order; the others forward. Empty: all that are left.
  std::optional<std::vector<Rank>> members;
};

/// Builds what is left. Ranks are renumbered without gaps; nodes and links keep their order, nodes
/// their names. Among members only, what lies on no path between two of them goes as well. The
/// shape is kept while all ranks are, becomes that of an aligned sub-grid without switches, or is
/// dropped. \throws Error(InvalidInput) if nothing is left or a rank cannot reach another.
Topology finish(const Draft& draft, std::string name);

}  // namespace multitree
