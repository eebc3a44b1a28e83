// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packing of out-trees on any network: switches split off, trees grown, arcs made routes again.
#include "algorithms/packing/trees/arborescences.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/packing/capacities/split_off.hpp"
#include "algorithms/packing/trees/arborescences_internal.hpp"
#include "algorithms/packing/trees/shallow_trees_internal.hpp"

namespace multitree {
namespace {

/// Gives trees the routes of their arcs. A tree that is heavier than a route has capacity left is
/// made two, alike but for that route.
class RouteAssignment {
 public:
  RouteAssignment(std::vector<RankArc> arcs, TreePacking& packing)
      : arcs_(std::move(arcs)), next_(arcs_.size(), 0), packing_(packing) {}

  void assign(const PackedTree& tree) {
    std::int64_t left = weight_of(tree);
    while (left > 0) {
      std::int64_t weight = left;
      for (const TreeArc& arc : tree.gather) {
        weight = std::min(weight, share(rank_arc(arc)).capacity);
      }
      PackedTree& packed = packing_.trees.emplace_back();
      packed.root = tree.root;
      packed.weight = static_cast<std::uint64_t>(weight);
      for (const TreeArc& arc : tree.gather) {
        RouteShare& used = share(rank_arc(arc));
        packed.gather.push_back(packing_.make_arc(arc.src, arc.dst, used.route));
        used.capacity -= weight;
        if (used.capacity == 0) ++next_[rank_arc(arc)];
      }
      left -= weight;
    }
  }

 private:
  RouteShare& share(std::uint32_t id) { return arcs_[id].routes[next_[id]]; }

  std::vector<RankArc> arcs_;
  std::vector<std::size_t> next_;  // the first route with capacity, by arc
  TreePacking& packing_;
};

RoutedTrees route_trees(const Topology& topology, std::span<const std::int64_t> capacity,
                        std::span<const std::int64_t> demand) {
  if (topology.has_switches()) {
    if (auto shallow = shallow_trees(topology, capacity, demand)) return std::move(*shallow);
  }
  RoutedTrees routed;
  routed.arcs = split_off_switches(topology, capacity, demand);
  routed.trees = pack_trees(topology.num_ranks(), routed.arcs, demand);
  return routed;
}

}  // namespace

TreePacking pack_arborescences(const Topology& topology, std::span<const std::int64_t> capacity,
                               std::span<const std::int64_t> demand) {
  TreePacking packing;
  packing.collective = Collective::AllGather;
  packing.ranks = topology.num_ranks();
  if (std::ranges::all_of(demand, [](std::int64_t d) { return d == 0; })) return packing;
  RoutedTrees routed = route_trees(topology, capacity, demand);
  RouteAssignment routes(std::move(routed.arcs), packing);
  for (const PackedTree& tree : routed.trees) routes.assign(tree);
  return packing;
}

}  // namespace multitree
