// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Graphs without directions. There are two others beside a Topology: FlowNetwork (sink_flows),
/// whose capacities and nodes change between flows, and the CutFinder's, which is what Boost's
/// maximum flow asks for.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace multitree {

/// Vertices 0 .. nodes - 1 and edges, in compressed rows: for spanning trees and what bounds them,
/// where a link and its mate are one. What edges carry is kept by number beside it.
struct UndirectedGraph {
  struct Edge {
    std::uint32_t a = 0, b = 0;
    [[nodiscard]] std::uint32_t other(std::uint32_t node) const { return node == a ? b : a; }
  };
  /// An edge as one of its ends sees it.
  struct End {
    std::uint32_t to = 0, edge = 0;
  };

  std::uint32_t nodes = 0;
  std::vector<Edge> edges;

  /// To be called when `edges` has changed. O(nodes + edges).
  void index_edges() {
    begin_.assign(nodes + 1, 0);
    for (const Edge& edge : edges) {
      ++begin_[edge.a];
      ++begin_[edge.b];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    ends_.resize(edges.size() * 2);
    for (auto e = static_cast<std::uint32_t>(edges.size()); e-- > 0;) {
      ends_[--begin_[edges[e].a]] = {edges[e].b, e};
      ends_[--begin_[edges[e].b]] = {edges[e].a, e};
    }
  }
  /// The edges of a vertex, ascending.
  [[nodiscard]] std::span<const End> at(std::uint32_t node) const {
    return std::span(ends_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }

 private:
  std::vector<std::uint32_t> begin_;  // of each node in ends_, and the end
  std::vector<End> ends_;
};

}  // namespace multitree
