// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A tree as arcs with routes: what packings are made of, and what is timed.
///
/// Three forms serve what this one cannot: a TreeBundle (spanning_trees_internal.hpp) has no
/// direction and no root that matters, and exchanges edges; a Forest (forest_internal.hpp) holds
/// all trees of a schedule by parent, to cut and hang parts of them; a TranslationTree stands for
/// its translates by every element of a group. What generators keep while a tree grows is their
/// own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/route_pool.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// One logical hop from rank to rank, through switches or (rarely) forwarding ranks: a route of a
/// pool.
struct TreeArc {
  Rank src{};
  Rank dst{};
  std::uint32_t route_begin = 0;
  std::uint32_t route_size = 0;
};

/// An arc, its route added to the pool.
inline TreeArc make_arc(Rank src, Rank dst, std::span<const LinkId> route, RoutePool& pool) {
  return {src, dst, add_route(route, pool), static_cast<std::uint32_t>(route.size())};
}

/// The trees of one share of the data. `gather` spreads it from the root, parents before children;
/// `reduce` collects it at the root, children before parents. One of them is empty where the
/// collective has no such phase.
struct PackedTree {
  Rank root{};
  std::uint64_t weight = 1;  ///< > 0; its share, relative to the other trees (of the same root,
                             ///< where the collective has shards)
  std::vector<TreeArc> gather, reduce;
};

}  // namespace multitree
