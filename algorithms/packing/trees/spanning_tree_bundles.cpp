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

/// Adjacency of a tree, the nodes in the order of a breadth-first search, and their parent edges.
struct Search {
  std::vector<std::uint32_t> order, edge;
};

Search breadth_first(const DuplexNetwork& network, const std::vector<std::uint32_t>& begin,
                     const std::vector<std::uint32_t>& incident, std::uint32_t root) {
  Search search{{root}, std::vector<std::uint32_t>(network.nodes, kNoEdge)};
  walk_breadth_first(search.order, [&](std::uint32_t node) {
    for (std::uint32_t i = begin[node]; i < begin[node + 1]; ++i) {
      if (incident[i] == search.edge[node]) continue;
      const std::uint32_t next = network.edges[incident[i]].other(node);
      search.edge[next] = incident[i];
      search.order.push_back(next);
    }
  });
  return search;
}

/// Edges of a bundle by node.
void tree_adjacency(const TreeBundle& bundle, std::vector<std::uint32_t>& begin,
                    std::vector<std::uint32_t>& incident) {
  const auto nodes = static_cast<std::uint32_t>(bundle.parent.size());
  begin.assign(nodes + 1, 0);
  for (std::uint32_t v = 0; v < nodes; ++v) {
    if (bundle.edge[v] == kNoEdge) continue;
    ++begin[v + 1];
    ++begin[bundle.parent[v] + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  incident.resize(begin.back());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t v = 0; v < nodes; ++v) {
    if (bundle.edge[v] == kNoEdge) continue;
    incident[next[v]++] = bundle.edge[v];
    incident[next[bundle.parent[v]]++] = bundle.edge[v];
  }
}

/// The middle of a longest path.
std::uint32_t centre(const DuplexNetwork& network, const std::vector<std::uint32_t>& begin,
                     const std::vector<std::uint32_t>& incident) {
  const std::uint32_t one_end = breadth_first(network, begin, incident, 0).order.back();
  const Search across = breadth_first(network, begin, incident, one_end);
  std::vector<std::uint32_t> path{across.order.back()};
  while (path.back() != one_end) {
    path.push_back(network.edges[across.edge[path.back()]].other(path.back()));
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
  network.begin.assign(network.nodes + 1, 0);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const LinkId mate = *topology.mate(LinkId{l});
    if (mate < LinkId{l}) continue;
    const Link& link = topology.link(LinkId{l});
    const std::uint32_t a = index(*topology.node(link.src).rank);
    const std::uint32_t b = index(*topology.node(link.dst).rank);
    network.edges.push_back(
        {a, b, LinkId{l}, mate, static_cast<std::int64_t>(link.bandwidth.bytes_per_second / unit)});
    ++network.begin[a + 1];
    ++network.begin[b + 1];
  }
  std::partial_sum(network.begin.begin(), network.begin.end(), network.begin.begin());
  network.incident.resize(network.begin.back());
  std::vector<std::uint32_t> next(network.begin.begin(), network.begin.end() - 1);
  for (std::uint32_t e = 0; e < network.edges.size(); ++e) {
    network.incident[next[network.edges[e].a]++] = e;
    network.incident[next[network.edges[e].b]++] = e;
  }
  return network;
}

void TreeBundle::exchange(std::uint32_t out, std::uint32_t in, const DuplexNetwork& network) {
  const DuplexEdge& old = network.edges[out];
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
  std::vector<std::uint32_t> begin, incident;
  for (const TreeBundle& bundle : packing.bundles) {
    tree_adjacency(bundle, begin, incident);
    const std::uint32_t root = centre(network, begin, incident);
    const Search search = breadth_first(network, begin, incident, root);
    PackedTree tree;
    tree.root = Rank{root};
    tree.weight = static_cast<std::uint64_t>(bundle.weight);
    for (std::size_t i = 1; i < search.order.size(); ++i) {
      const std::uint32_t node = search.order[i];
      const DuplexEdge& edge = network.edges[search.edge[node]];
      const bool down_is_there = edge.b == node;
      const Rank child{node}, parent{edge.other(node)};
      const LinkId down = down_is_there ? edge.there : edge.back;
      const LinkId up = down_is_there ? edge.back : edge.there;
      tree.gather.push_back(result.make_arc(parent, child, {&down, 1}));
      tree.reduce.push_back(result.make_arc(child, parent, {&up, 1}));
    }
    std::ranges::reverse(tree.reduce);
    result.trees.push_back(std::move(tree));
  }
  return result;
}

}  // namespace multitree
