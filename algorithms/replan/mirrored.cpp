// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces that reduce and spread over the same edges at the same time. An edge then carries a
/// tree's share once in each direction wherever its root is, so that trees are repaired without
/// directions: as spanning trees that exchange edges until none has too much.
#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/spanning_trees_internal.hpp"
#include "algorithms/replan/forest_internal.hpp"

namespace multitree {
namespace {

constexpr std::uint64_t kLeastUnits = 1024;

/// Edges by link.
std::vector<std::uint32_t> edges_of_links(const DuplexNetwork& network, const Topology& topology) {
  std::vector<std::uint32_t> edge(topology.num_links(), kNoEdge);
  for (std::uint32_t e = 0; e < network.edges.size(); ++e) {
    edge[index(network.there[e])] = edge[index(network.back[e])] = e;
  }
  return edge;
}

/// The edges of a chunk's two trees if they are the same.
std::optional<std::vector<std::uint32_t>> mirrored_edges(
    const Forest& forest, std::uint32_t chunk, const std::vector<std::uint32_t>& edge_of_link) {
  std::vector<std::uint32_t> edges(forest.ranks(), kNoEdge);
  for (std::uint32_t r = 0; r < forest.ranks(); ++r) {
    const Forest::Up &down = forest.up_of(Op::Copy, chunk, r),
                     &up = forest.up_of(Op::Reduce, chunk, r);
    if (down.arc >= Forest::kCut && up.arc >= Forest::kCut) continue;
    if (down.arc >= Forest::kCut || up.arc >= Forest::kCut) return std::nullopt;
    const auto there = forest.route(forest.arcs[down.arc]),
               back = forest.route(forest.arcs[up.arc]);
    if (there.size() != 1 || back.size() != 1) return std::nullopt;
    edges[r] = edge_of_link[index(there.front())];
    if (edge_of_link[index(back.front())] != edges[r]) return std::nullopt;
  }
  return edges;
}

/// Chunks over the same edges as bundles that are not hung up yet, as some edges may be gone;
/// weights are `units` for a unit of the shares. Nothing if some chunk is reduced and spread over
/// different edges.
std::optional<std::vector<TreeBundle>> mirrored_trees(const Forest& forest, std::uint64_t units,
                                                      const DuplexNetwork& network) {
  const auto edge_of_link = edges_of_links(network, forest.topology);
  std::vector<TreeBundle> trees;
  std::map<std::vector<std::uint32_t>, std::size_t> known;
  for (std::uint32_t c = 0; c < forest.num_chunks(); ++c) {
    auto edges = mirrored_edges(forest, c, edge_of_link);
    if (!edges) return std::nullopt;
    const auto [entry, is_new] = known.emplace(*edges, trees.size());
    if (is_new) {
      TreeBundle& tree = trees.emplace_back();
      tree.edge = *std::move(edges);
      tree.weight = 0;
    }
    trees[entry->second].weight += static_cast<std::int64_t>(forest.share[c] * units);
  }
  return trees;
}

/// Ranks in parts that are joined.
using Parts = boost::disjoint_sets_with_storage<>;

/// The parts of a tree with edges missing.
Parts parts_of(const TreeBundle& tree, const DuplexNetwork& network) {
  Parts parts(network.nodes);
  for (const std::uint32_t e : tree.edge) {
    if (e != kNoEdge) parts.union_set(network.edges[e].a, network.edges[e].b);
  }
  return parts;
}

/// A bundle of trees with these edges.
TreeBundle hang_up(const std::vector<std::uint32_t>& edges, std::int64_t weight,
                   const DuplexNetwork& network) {
  std::vector<bool> in_tree(network.edges.size(), false);
  for (const std::uint32_t e : edges) in_tree[e] = true;
  TreeBundle bundle;
  bundle.weight = weight;
  bundle.parent.assign(network.nodes, 0);
  bundle.edge.assign(network.nodes, kNoEdge);
  std::vector<std::uint32_t> order{0};
  walk_breadth_first(order, [&](std::uint32_t v) {
    for (const auto& [next, e] : network.at(v)) {
      if (!in_tree[e] || e == bundle.edge[v]) continue;
      bundle.parent[next] = v;
      bundle.edge[next] = e;
      order.push_back(next);
    }
  });
  bundle.measure_depth();
  return bundle;
}

/// Joins the parts of a tree by edges with much room; a bundle for each share of it that finds
/// room, or, if there is none, is as little beyond it as can be.
void join(const TreeBundle& tree, BundlePacking& packing) {
  const DuplexNetwork& network = *packing.network;
  Parts parts = parts_of(tree, network);
  std::vector<std::uint32_t> kept, crossing;
  for (const std::uint32_t e : tree.edge) {
    if (e != kNoEdge) kept.push_back(e);
  }
  for (std::uint32_t e = 0; e < network.edges.size(); ++e) {
    if (parts.find_set(network.edges[e].a) != parts.find_set(network.edges[e].b)) {
      crossing.push_back(e);
    }
  }
  for (std::int64_t left = tree.weight; left > 0;) {
    std::ranges::stable_sort(crossing, [&](std::uint32_t a, std::uint32_t b) {
      return packing.excess(a) < packing.excess(b);
    });
    Parts joined = parts;
    std::vector<std::uint32_t> edges = kept;
    std::int64_t share = left;
    for (const std::uint32_t e : crossing) {
      const auto a = joined.find_set(network.edges[e].a), b = joined.find_set(network.edges[e].b);
      if (a == b) continue;
      joined.link(a, b);
      edges.push_back(e);
      if (packing.excess(e) < 0) share = std::min(share, -packing.excess(e));
    }
    packing.bundles.push_back(hang_up(edges, share, network));
    for (std::size_t i = kept.size(); i < edges.size(); ++i) packing.load[edges[i]] += share;
    left -= share;
  }
}

/// What edges may carry: so many percent of the load.
void set_capacity(BundlePacking& packing, LinkLoad load, std::uint32_t percent) {
  for (std::size_t e = 0; e < packing.capacity.size(); ++e) {
    const __int128 bandwidth = packing.network->bandwidth[e];
    packing.capacity[e] = static_cast<std::int64_t>(bandwidth * load.carried * percent /
                                                    (__int128{load.bandwidth} * 100));
  }
}

/// Messages between classes over the bandwidth between them: a load that no trees fall below.
LinkLoad load_between(const std::vector<std::uint32_t>& classes, std::uint64_t all,
                      const DuplexNetwork& network) {
  const std::uint64_t count = std::set<std::uint32_t>(classes.begin(), classes.end()).size();
  LinkLoad load{all * (count - 1), 0};
  for (std::size_t e = 0; e < network.edges.size(); ++e) {
    if (classes[network.edges[e].a] == classes[network.edges[e].b]) continue;
    load.bandwidth += static_cast<std::uint64_t>(network.bandwidth[e]);
  }
  return load;
}

/// Steps between receiving a chunk and passing it on, of the first chunks.
std::uint32_t lag_of(const Forest& forest) {
  std::uint32_t least = 2;
  for (std::uint32_t c = 0; c < std::min<std::size_t>(forest.num_chunks(), 8); ++c) {
    for (std::uint32_t r = 0; r < forest.ranks(); ++r) {
      const Forest::Up& arc = forest.up_of(Op::Copy, c, r);
      if (arc.arc >= Forest::kCut) continue;
      const Forest::Up& above = forest.up_of(Op::Copy, c, arc.parent);
      if (above.arc >= Forest::kCut) continue;
      least = std::min(least, forest.arcs[arc.arc].step - forest.arcs[above.arc].step);
    }
  }
  return least - 1;
}

/// How many chunks of a schedule over these trees travel as chunks did before.
std::uint32_t count_kept(const std::vector<TreeBundle>& old, const BundlePacking& packing,
                         const Schedule& schedule) {
  const auto sorted = [](std::vector<std::uint32_t> edges) {
    std::ranges::sort(edges);
    return edges;
  };
  std::set<std::vector<std::uint32_t>> before;
  for (const TreeBundle& tree : old) before.insert(sorted(tree.edge));
  std::vector<bool> is_kept;
  for (const TreeBundle& bundle : packing.bundles) {
    is_kept.push_back(before.contains(sorted(bundle.edge)));
  }
  return static_cast<std::uint32_t>(
      std::ranges::count_if(schedule.chunks, [&](const Chunk& c) { return is_kept[c.tree]; }));
}

BundlePacking pack_again(const std::vector<TreeBundle>& trees, const DuplexNetwork& network,
                         LinkLoad& least) {
  const std::size_t edges = network.edges.size();
  BundlePacking packing{
      &network, std::vector<std::int64_t>(edges), std::vector<std::int64_t>(edges), {}};
  std::int64_t all = 0;
  for (const TreeBundle& tree : trees) {
    all += tree.weight;
    for (const std::uint32_t e : tree.edge) {
      if (e != kNoEdge) packing.load[e] += tree.weight;
    }
  }
  std::vector<std::uint32_t> classes(network.nodes);
  for (std::uint32_t v = 0; v < network.nodes; ++v) classes[v] = v;
  least = load_between(classes, static_cast<std::uint64_t>(all), network);
  // Few trees have to change if there is some room; 1 % of the 5 is for chunks of uneven size.
  std::uint32_t percent = 104;
  set_capacity(packing, least, percent);
  for (const TreeBundle& tree : trees) join(tree, packing);
  while (const auto too_few = resolve_overload(packing)) {
    const LinkLoad load = load_between(*too_few, static_cast<std::uint64_t>(all), network);
    if (least < load) {
      least = load;
    } else {
      ++percent;  // whole units do not fit
    }
    set_capacity(packing, least, percent);
  }
  return packing;
}

}  // namespace

std::optional<Mirrored> repair_mirrored(const Forest& forest) {
  const Topology& topology = forest.topology;
  const bool is_undirected = !topology.has_switches() && topology.is_symmetric();
  if (forest.phased || !is_undirected || topology.num_ranks() == 1) return std::nullopt;
  const DuplexNetwork network = duplex_network(topology);
  // So many units that an edge's share of them can be met to a few percent.
  std::uint64_t all = 0;
  for (const std::uint64_t share : forest.share) all += share;
  const std::uint64_t units = (kLeastUnits + all - 1) / all;
  const auto trees = mirrored_trees(forest, units, network);
  if (!trees) return std::nullopt;
  Mirrored result;
  const BundlePacking packing = pack_again(*trees, network, result.bound);
  const auto bundles = static_cast<std::uint32_t>(packing.bundles.size());
  const auto chunks = static_cast<std::uint32_t>(forest.num_chunks());
  result.schedule =
      time_trees(to_tree_packing(packing, topology), topology,
                 {.segments = (chunks + bundles - 1) / bundles, .lag = lag_of(forest)});
  result.schedule.algorithm = forest.header.algorithm;
  result.schedule.coalesces = forest.header.coalesces;
  result.kept = count_kept(*trees, packing, result.schedule);
  // Back from the packing's units.
  const Link& link = topology.link(network.there.front());
  result.bound.bandwidth *= units * link.bandwidth.bytes_per_second /
                            static_cast<std::uint64_t>(network.bandwidth.front());
  return result;
}

}  // namespace multitree
