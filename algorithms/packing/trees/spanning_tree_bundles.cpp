// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks and trees of undirected edges: making, changing, and turning them into links again.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/packing/trees/spanning_trees_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// The nodes of a tree in the order of a breadth-first search, and their parent edges.
struct Search {
  std::vector<std::uint32_t> order, edge;
};

Search search_tree(const UndirectedGraph& tree, std::uint32_t root) {
  Search search{{root}, std::vector<std::uint32_t>(tree.nodes, kNoEdge)};
  walk_breadth_first(search.order, [&](std::uint32_t node) {
    for (const auto& [to, edge] : tree.at(node)) {
      if (edge == search.edge[node]) continue;
      search.edge[to] = edge;
      search.order.push_back(to);
    }
  });
  return search;
}

/// The middle of a longest path.
std::uint32_t centre(const UndirectedGraph& tree) {
  const std::uint32_t one_end = search_tree(tree, 0).order.back();
  const Search across = search_tree(tree, one_end);
  std::vector<std::uint32_t> path{across.order.back()};
  while (path.back() != one_end) {
    path.push_back(tree.edges[across.edge[path.back()]].other(path.back()));
  }
  return path[path.size() / 2];
}

std::uint64_t common_unit(const Topology& topology) {
  std::uint64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth.bytes_per_second);
  return unit;
}

}  // namespace

DuplexNetwork duplex_network(const Topology& topology) {
  if (topology.has_switches() || !topology.is_symmetric()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected a network of pairs of equal links without switches",
                            topology.name()));
  }
  DuplexNetwork network;
  network.nodes = topology.num_ranks();
  const std::uint64_t unit = common_unit(topology);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const LinkId mate = *topology.mate(LinkId{l});
    if (mate < LinkId{l}) continue;
    const Link& link = topology.link(LinkId{l});
    network.edges.push_back(
        {index(*topology.node(link.src).rank), index(*topology.node(link.dst).rank)});
    network.there.push_back(LinkId{l});
    network.back.push_back(mate);
    network.bandwidth.push_back(static_cast<std::int64_t>(link.bandwidth.bytes_per_second / unit));
  }
  network.index_edges();
  return network;
}

void TreeBundle::exchange(std::uint32_t out, std::uint32_t in, const DuplexNetwork& network) {
  const UndirectedGraph::Edge& old = network.edges[out];
  const std::uint32_t cut = edge[old.a] == out ? old.a : old.b;  // top of the part that comes off
  // The end of `in` in that part is the one from which the cut is met on the way to the root.
  const auto is_below_cut = [&](std::uint32_t node) {
    while (depth[node] > depth[cut]) node = parent[node];
    return node == cut;
  };
  std::uint32_t node = network.edges[in].a;
  if (!is_below_cut(node)) node = network.edges[in].b;
  std::uint32_t new_parent = network.edges[in].other(node), new_edge = in;
  while (true) {
    std::swap(parent[node], new_parent);
    std::swap(edge[node], new_edge);
    if (node == cut) break;
    std::swap(node, new_parent);
  }
  measure_depth();
}

void TreeBundle::measure_depth() {
  constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  depth.assign(parent.size(), kUnknown);
  std::vector<std::uint32_t> path;
  for (std::uint32_t v = 0; v < parent.size(); ++v) {
    std::uint32_t at = v;
    for (; depth[at] == kUnknown && edge[at] != kNoEdge; at = parent[at]) path.push_back(at);
    if (depth[at] == kUnknown) depth[at] = 0;
    for (; !path.empty(); path.pop_back()) depth[path.back()] = depth[parent[path.back()]] + 1;
  }
}

void BundlePacking::put(const TreeBundle& bundle, std::int64_t sign) {
  for (const std::uint32_t e : bundle.edge) {
    if (e != kNoEdge) load[e] += sign * bundle.weight;
  }
}

TreePacking to_tree_packing(const BundlePacking& packing, const Topology& topology) {
  TreePacking result;
  result.collective = Collective::AllReduce;
  result.ranks = topology.num_ranks();
  const DuplexNetwork& network = *packing.network;
  UndirectedGraph shape;
  shape.nodes = network.nodes;
  std::vector<std::uint32_t> edge_of;  // of the network, by edge of the shape
  for (const TreeBundle& bundle : packing.bundles) {
    shape.edges.clear();
    edge_of.clear();
    for (const std::uint32_t e : bundle.edge) {
      if (e == kNoEdge) continue;
      shape.edges.push_back(network.edges[e]);
      edge_of.push_back(e);
    }
    shape.index_edges();
    const std::uint32_t root = centre(shape);
    const Search search = search_tree(shape, root);
    PackedTree tree;
    tree.root = Rank{root};
    tree.weight = static_cast<std::uint64_t>(bundle.weight);
    for (std::size_t i = 1; i < search.order.size(); ++i) {
      const std::uint32_t node = search.order[i], e = edge_of[search.edge[node]];
      const bool down_is_there = network.edges[e].b == node;
      const Rank child{node}, parent{network.edges[e].other(node)};
      const LinkId down = down_is_there ? network.there[e] : network.back[e];
      const LinkId up = down_is_there ? network.back[e] : network.there[e];
      tree.gather.push_back(result.make_arc(parent, child, {&down, 1}));
      tree.reduce.push_back(result.make_arc(child, parent, {&up, 1}));
    }
    std::ranges::reverse(tree.reduce);
    result.trees.push_back(std::move(tree));
  }
  return result;
}

}  // namespace multitree
