// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact load and depth of a tree packing.
#include "algorithms/packing/trees/tree_packing.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <map>

#include "algorithms/combined_routes.hpp"

namespace multitree {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// All-gather and reduce-scatter: every rank's trees share that rank's shard, one Nth of the
/// buffer. Others: all trees share the buffer. Returned: weight of the whole buffer.
Integer weight_of_buffer(const TreePacking& packing) {
  const bool sharded = is_sharded(packing.collective);
  Integer total = 0;
  for (const PackedTree& tree : packing.trees) {
    if (!sharded || tree.root == packing.trees.front().root) total += tree.weight;
  }
  return sharded ? total * packing.ranks : total;
}

std::uint32_t depth_of(const std::vector<TreeArc>& arcs, Rank root, std::uint32_t ranks) {
  std::vector<std::uint32_t> level(ranks, 0);
  std::uint32_t deepest = 0;
  for (const TreeArc& arc : arcs) {
    level[index(arc.dst)] = arc.src == root ? 1 : level[index(arc.src)] + 1;
    deepest = std::max(deepest, level[index(arc.dst)]);
  }
  return deepest;
}

}  // namespace

Exact load(const TreePacking& packing, const Topology& topology) {
  std::vector<Integer> carried(topology.num_links(), 0);
  for (const PackedTree& tree : packing.trees) {
    for (const Op op : {Op::Copy, Op::Reduce}) {
      for (const ArcGroup& group : arc_groups(packing, tree, op, topology)) {
        for (const LinkId link : group.links) carried[index(link)] += tree.weight;
      }
    }
  }
  Exact busiest = 0;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    if (carried[l] == 0) continue;
    const Integer bandwidth = topology.link(LinkId{l}).bandwidth.bytes_per_second;
    busiest = std::max(busiest, Exact(carried[l], bandwidth));
  }
  if (busiest == 0) return busiest;
  const Integer unit = topology.unit_bandwidth().bytes_per_second;
  return busiest * Exact(unit * packing.ranks, weight_of_buffer(packing));
}

namespace {

CombinedRoutes combined(const TreePacking& packing, std::span<const TreeArc> arcs, Op op,
                        const Topology& topology) {
  std::vector<std::span<const LinkId>> routes;
  routes.reserve(arcs.size());
  for (const TreeArc& arc : arcs) routes.push_back(packing.route(arc));
  return {std::move(routes), op, topology};
}

/// How many of the arcs, from the first on, links have room for in one step: where a switch between
/// them only forwards, each is a message of its own.
std::size_t fitting(const TreePacking& packing, std::span<const TreeArc> arcs, Op op,
                    const Topology& topology) {
  const auto fits = [&](std::size_t number) {
    std::map<LinkId, std::uint32_t> uses;
    const CombinedRoutes routes = combined(packing, arcs.first(number), op, topology);
    return std::ranges::all_of(routes.hops(), [&](const CombinedRoutes::Hop& hop) {
      return ++uses[hop.link] <= topology.slots(hop.link);
    });
  };
  if (fits(arcs.size())) return arcs.size();
  std::size_t number = 1;
  while (fits(number + 1)) ++number;
  return number;
}

}  // namespace

std::vector<ArcGroup> arc_groups(const TreePacking& packing, const PackedTree& tree, Op op,
                                 const Topology& topology) {
  const std::vector<TreeArc>& arcs = op == Op::Copy ? tree.gather : tree.reduce;
  const auto end_of = [&](const TreeArc& arc) { return op == Op::Copy ? arc.src : arc.dst; };
  std::vector<ArcGroup> groups;
  for (std::size_t first = 0, end = 0; first < arcs.size(); first = end) {
    ++end;
    while (packing.in_network && end < arcs.size() && end_of(arcs[end]) == end_of(arcs[first])) {
      ++end;
    }
    if (packing.in_network) {
      const auto all = std::span(arcs).subspan(first, end - first);
      end = first + fitting(packing, all, op, topology);
    }
    ArcGroup group;
    group.arcs = std::span(arcs).subspan(first, end - first);
    if (!packing.in_network) {
      group.links = packing.route(arcs[first]);
    } else {
      const CombinedRoutes together = combined(packing, group.arcs, op, topology);
      ArcGroup::Combined own;
      for (const CombinedRoutes::Hop& hop : together.hops()) {
        own.links.push_back(hop.link);
        const Link& link = topology.link(hop.link);
        if (hop.ways > 1) own.switches.push_back(op == Op::Copy ? link.dst : link.src);
      }
      if (op == Op::Reduce) std::ranges::reverse(own.links);
      group.combined = std::make_unique<const ArcGroup::Combined>(std::move(own));
      group.links = group.combined->links;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::uint32_t depth(const TreePacking& packing) {
  std::uint32_t deepest = 0;
  for (const PackedTree& tree : packing.trees) {
    deepest = std::max(deepest, depth_of(tree.gather, tree.root, packing.ranks));
    std::vector<TreeArc> down(tree.reduce.rbegin(), tree.reduce.rend());
    for (TreeArc& arc : down) std::swap(arc.src, arc.dst);
    deepest = std::max(deepest, depth_of(down, tree.root, packing.ranks));
  }
  return deepest;
}

}  // namespace multitree
