// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Combs of meshes.
#include "algorithms/packing/trees/combs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/packing/trees/spanning_trees_internal.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

/// A dimension larger than 1.
struct Dimension {
  std::uint32_t size = 0, stride = 0;
  [[nodiscard]] std::uint32_t coordinate(std::uint32_t rank) const { return rank / stride % size; }
};

struct Mesh {
  std::vector<Dimension> dims;
  DuplexNetwork network;
  std::vector<std::uint32_t> up;  // by rank and dimension: edge to the next coordinate

  [[nodiscard]] std::uint32_t& edge_up(std::uint32_t rank, std::size_t dim) {
    return up[rank * dims.size() + dim];
  }
};

/// Checks that the network still is what its shape says: each edge joins neighbours, and each two
/// neighbours have one.
bool fill_edges(Mesh& mesh) {
  mesh.up.assign(mesh.network.nodes * mesh.dims.size(), kNoEdge);
  std::size_t expected = 0;
  for (const Dimension& dim : mesh.dims) {
    expected += std::size_t{mesh.network.nodes} / dim.size * (dim.size - 1);
  }
  if (mesh.network.edges.size() != expected) return false;
  for (std::uint32_t e = 0; e < expected; ++e) {
    const UndirectedGraph::Edge& edge = mesh.network.edges[e];
    const auto [low, high] = std::minmax(edge.a, edge.b);
    const auto dim = std::ranges::find(mesh.dims, high - low, &Dimension::stride);
    if (dim == mesh.dims.end() || dim->coordinate(low) + 1 == dim->size) return false;
    std::uint32_t& up = mesh.edge_up(low, static_cast<std::size_t>(dim - mesh.dims.begin()));
    if (up != kNoEdge || mesh.network.bandwidth[e] != mesh.network.bandwidth[0]) return false;
    up = e;
  }
  return true;
}

std::optional<Mesh> find_mesh(const Topology& topology) {
  const std::optional<Grid> grid = structure_of(topology).grid;
  if (!grid || grid->line != Line::Path || !topology.is_symmetric()) return std::nullopt;
  Mesh mesh;
  std::uint32_t ranks = 1;
  for (const std::uint32_t size : grid->sizes) {
    if (size > 1) mesh.dims.push_back({size, ranks});
    ranks *= size;
  }
  if (ranks == 1) return std::nullopt;
  mesh.network = duplex_network(topology);
  if (!fill_edges(mesh)) return std::nullopt;
  return mesh;
}

/// Every rank's parent is one step closer to `layer` in the first dimension of `order` in which it
/// is not there yet.
TreeBundle make_comb(Mesh& mesh, const std::vector<std::size_t>& order,
                     const std::vector<std::uint32_t>& layer, std::int64_t weight) {
  TreeBundle comb;
  comb.weight = weight;
  comb.parent.assign(mesh.network.nodes, 0);
  comb.edge.assign(mesh.network.nodes, kNoEdge);
  for (std::uint32_t rank = 0; rank < mesh.network.nodes; ++rank) {
    for (const std::size_t d : order) {
      const Dimension& dim = mesh.dims[d];
      const std::uint32_t at = dim.coordinate(rank);
      if (at == layer[d]) continue;
      comb.parent[rank] = at < layer[d] ? rank + dim.stride : rank - dim.stride;
      comb.edge[rank] = mesh.edge_up(std::min(rank, comb.parent[rank]), d);
      break;
    }
  }
  comb.measure_depth();
  return comb;
}

/// The combs whose dimensions are joined in this order, one for each layer in all but the last.
void add_combs(Mesh& mesh, const std::vector<std::size_t>& order, std::int64_t weight,
               BundlePacking& packing) {
  const std::uint32_t count = mesh.network.nodes / mesh.dims[order.back()].size;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<std::uint32_t> layer(order.size(), 0);
    std::uint32_t rest = i;
    for (std::size_t j = 0; j + 1 < order.size(); ++j) {
      layer[order[j]] = rest % mesh.dims[order[j]].size;
      rest /= mesh.dims[order[j]].size;
    }
    packing.bundles.push_back(make_comb(mesh, order, layer, weight));
  }
}

}  // namespace

std::optional<TreePacking> pack_combs(const Topology& topology) {
  std::optional<Mesh> mesh = find_mesh(topology);
  if (!mesh) return std::nullopt;
  const std::size_t k = mesh->dims.size();
  const bool equal = std::ranges::all_of(
      mesh->dims, [&](const Dimension& dim) { return dim.size == mesh->dims[0].size; });
  if (k > 2 && !equal) return std::nullopt;
  BundlePacking packing{&mesh->network, {}, {}, {}};
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t common = 1;
  if (k == 2) common = std::gcd(mesh->dims[0].size - 1, mesh->dims[1].size - 1);
  for (std::size_t turn = 0; turn < k; ++turn) {
    const std::int64_t weight =
        k == 2 ? (std::int64_t{mesh->dims[order.back()].size} - 1) / common : 1;
    add_combs(*mesh, order, weight, packing);
    std::ranges::rotate(order, order.begin() + 1);
  }
  return to_tree_packing(packing, topology);
}

}  // namespace multitree
