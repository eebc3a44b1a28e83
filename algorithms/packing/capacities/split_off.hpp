// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network without its switches: arcs from rank to rank, each made of routes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// A share of an arc's capacity and the links that it takes.
struct RouteShare {
  std::vector<LinkId> route;
  std::int64_t capacity = 0;  ///< > 0
};

/// All the capacity from one rank to another.
struct RankArc {
  Rank src{};
  Rank dst{};
  std::int64_t capacity = 0;  ///< sum of the routes'
  std::vector<RouteShare> routes;
};

/// Arcs between ranks, one at most from one to another, on which the demands can be met as they can
/// on the network itself: for every rank v, `demand[r]` units from every other rank r reach v at
/// the same time. The routes together use no more than capacity[e] of link e, and pass no switch
/// twice.
///
/// Switches are split off one after the other (Bang-Jensen, Frank, Jackson, "Preserving and
/// increasing local edge-connectivity in mixed graphs", SIAM J. Discrete Math. 8, 1995): capacity
/// into a switch is joined to capacity out of it as long as no cut gets too small. Capacity is
/// spread over many pairs first, which makes for short trees.
///
/// \pre as for pack_arborescences(). \throws std::logic_error otherwise.
std::vector<RankArc> split_off_switches(const Topology& topology,
                                        std::span<const std::int64_t> capacity,
                                        std::span<const std::int64_t> demand);

}  // namespace multitree
