// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees whose switches copy on the way down and add on the way up.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/metric_trees_internal.hpp"
#include "algorithms/tree.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A tree without a root. Vertices are ranks, and behind them places where a message passes a
/// switch; edges are links, which have mates.
class InNetworkTree {
 public:
  explicit InNetworkTree(const Topology& topology)
      : topology_(topology), ways_(topology.num_ranks()) {}
  /// The tree that arcs from a root make (PackedTree::gather).
  InNetworkTree(const std::vector<TreeArc>& gather, const RoutePool& routes,
                const Topology& topology);

  std::uint32_t add_vertex() {
    ways_.emplace_back();
    return static_cast<std::uint32_t>(ways_.size() - 1);
  }
  /// `link` leads from `a` to `b`.
  void add_edge(std::uint32_t a, std::uint32_t b, LinkId link);

  /// Arcs from rank to rank as data spreads from `root`, parents first, those of a rank together.
  [[nodiscard]] std::vector<TreeArc> arcs_from(Rank root, RoutePool& routes) const;
  /// The same with the reductions that come back by the mates, children first.
  [[nodiscard]] PackedTree rooted(Rank root, RoutePool& routes) const;
  /// The rank from which the farthest is least far, in latency; the lowest of those.
  [[nodiscard]] Rank centre() const;

 private:
  struct Way {
    std::uint32_t to = 0;
    LinkId link{};
  };
  [[nodiscard]] std::vector<std::int64_t> distances(std::uint32_t from) const;

  const Topology& topology_;
  std::vector<std::vector<Way>> ways_;  // by vertex
};

/// How many messages arcs from a root put on each link that they use, ascending by link.
std::vector<std::pair<LinkId, std::int32_t>> messages_on_links(const std::vector<TreeArc>& gather,
                                                               const RoutePool& routes,
                                                               const Topology& topology);

/// A few different trees of ranks and switches that add and copy, cheap at these prices of links,
/// with their roots in their middle; `round` varies them. A cheapest tree is hard to find
/// (Steiner), so this is a search: cheapest paths one after the other (Takahashi and Matsuyama
/// 1980), then better ones with a switch less or more. \pre has_in_network_trees(). The first is
/// the cheapest.
std::vector<PackedTree> cheap_in_network_trees(const Topology& topology,
                                               const std::vector<Price>& price, std::uint32_t round,
                                               RoutePool& routes);

}  // namespace multitree
