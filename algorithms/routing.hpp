// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shortest routes between nodes, chosen among those whose links are free.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Finds shortest routes (fewest links; any node may forward). Distances to a destination are
/// computed once and kept: O(nodes) memory for each destination asked for.
class Router {
 public:
  /// Keeps a reference to `topology`.
  explicit Router(const Topology& topology);

  /// What distance() returns where no route exists.
  static constexpr std::uint32_t kUnreachable = UINT32_MAX;

  /// Fewest links from src to dst.
  [[nodiscard]] std::uint32_t distance(NodeId src, NodeId dst);

  /// A shortest route from src to dst using only links for which `usable` holds, lowest LinkIds
  /// first; false (and `route` unspecified) if there is none. `usable` is asked at most once for
  /// each link. O(links of the shortest-path DAG).
  bool find(NodeId src, NodeId dst, const std::function<bool(LinkId)>& usable,
            std::vector<LinkId>& route);

 private:
  const std::vector<std::uint32_t>& distances_to(NodeId dst);

  const Topology* topology_;
  std::vector<std::vector<std::uint32_t>> distances_;
  std::vector<std::uint32_t> visited_;  // stamp of the last search that entered a node
  std::vector<std::uint32_t> next_;     // position in the out-links of each node on the route
  std::uint32_t stamp_ = 0;
};

}  // namespace multitree
