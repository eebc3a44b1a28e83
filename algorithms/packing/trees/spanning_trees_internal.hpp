// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the steps of packing spanning trees share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/undirected_graph_internal.hpp"
#include "topologies/topology.hpp"

namespace multitree {

inline constexpr std::uint32_t kNoEdge = ~std::uint32_t{0};

/// A network as a graph of ranks; an edge is two links that are each other's mates.
struct DuplexNetwork : UndirectedGraph {
  std::vector<LinkId> there, back;      ///< by edge: from a to b, from b to a
  std::vector<std::int64_t> bandwidth;  ///< by edge, in units that all bandwidths are multiples of
};

/// \throws Error(Unsupported): switches, links without mates.
DuplexNetwork duplex_network(const Topology& topology);

/// A bundle of `weight` equal spanning trees, hung up at some node.
struct TreeBundle {
  std::int64_t weight = 1;
  std::vector<std::uint32_t> parent, edge, depth;  ///< by node; edge is kNoEdge at the root

  /// Replaces tree edge `out` by `in`, which joins the two parts that this leaves.
  void exchange(std::uint32_t out, std::uint32_t in, const DuplexNetwork& network);
  void measure_depth();
};

/// Bundles and what they load the edges with. An edge may hold more than its capacity while the
/// packing is made.
struct BundlePacking {
  const DuplexNetwork* network = nullptr;
  std::vector<std::int64_t> capacity, load;  ///< by edge
  std::vector<TreeBundle> bundles;

  [[nodiscard]] std::int64_t excess(std::uint32_t edge) const {
    return load[edge] - capacity[edge];
  }
  /// Adds the bundle's weight, times `sign`, to its edges' loads.
  void put(const TreeBundle& bundle, std::int64_t sign);
};

/// Spanning trees of total weight `total`, in at most `bundles` bundles, short ones that overload
/// few edges.
BundlePacking grow_bundles(const DuplexNetwork& network, std::vector<std::int64_t> capacity,
                           std::int64_t total, std::uint32_t bundles);

/// Exchanges edges until none is overloaded, or returns a partition (class of each node) whose
/// crossing edges are too few for the trees: a proof that it cannot be done.
std::optional<std::vector<std::uint32_t>> resolve_overload(BundlePacking& packing);

/// Roots each tree at its centre, and turns edges into links.
TreePacking to_tree_packing(const BundlePacking& packing, const Topology& topology);

}  // namespace multitree
