// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packings of any trees, for tests of what gives transfers their time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/routing.hpp"

namespace multitree {

using Generator = std::mt19937_64;

inline std::uint32_t below(Generator& random, std::size_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

/// Any tree over the ranks: each is joined to one before it in a random order, by shortest routes.
inline PackedTree random_tree(const Topology& topology, TreePacking& packing, Rank root,
                              Generator& random, bool reduces, bool gathers) {
  Router router(topology);
  const auto route = [&](Rank from, Rank to) {
    std::vector<LinkId> links;
    router.find(
        topology.node_of(from), topology.node_of(to), [](LinkId) { return true; }, links);
    return packing.make_arc(from, to, links);
  };
  std::vector<Rank> members{root};
  PackedTree tree{.root = root, .weight = 1 + below(random, 9), .gather = {}, .reduce = {}};
  std::vector<Rank> others;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (Rank{r} != root) others.push_back(Rank{r});
  }
  for (std::size_t i = others.size(); i > 1; --i) {
    std::swap(others[i - 1], others[below(random, i)]);
  }
  for (const Rank rank : others) {
    const Rank parent = members[below(random, members.size())];
    if (gathers) tree.gather.push_back(route(parent, rank));
    if (reduces) tree.reduce.push_back(route(rank, parent));
    members.push_back(rank);
  }
  std::ranges::reverse(tree.reduce);
  return tree;
}

inline TreePacking empty_packing(std::uint32_t ranks) {
  TreePacking packing;
  packing.collective = Collective::AllReduce;
  packing.ranks = ranks;
  return packing;
}

inline TreePacking random_packing(const Topology& topology, Collective collective,
                                  Generator& random) {
  TreePacking packing;
  packing.collective = collective;
  packing.ranks = topology.num_ranks();
  const bool sharded = is_sharded(collective);
  const bool reduces = collective != Collective::AllGather && collective != Collective::Broadcast;
  const bool gathers = collective != Collective::ReduceScatter && collective != Collective::Reduce;
  const std::uint32_t count = sharded ? packing.ranks : 1 + below(random, 4);
  if (has_root(collective)) packing.root = Rank{below(random, packing.ranks)};
  for (std::uint32_t t = 0; t < count; ++t) {
    Rank root = packing.root;
    if (sharded) root = Rank{t};
    if (collective == Collective::AllReduce) root = Rank{below(random, packing.ranks)};
    const std::uint32_t copies = 1 + below(random, 2);
    for (std::uint32_t i = 0; i < copies; ++i) {
      packing.trees.push_back(random_tree(topology, packing, root, random, reduces, gathers));
    }
  }
  return packing;
}

}  // namespace multitree
