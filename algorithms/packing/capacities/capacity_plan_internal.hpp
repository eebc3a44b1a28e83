// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many trees may use each link.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/bounds.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Whole numbers of trees that links can carry and ranks ask for.
struct CapacityPlan {
  std::vector<std::int64_t> capacity;  ///< by link
  std::vector<std::int64_t> demand;    ///< by rank: trees that have it as their root
};

/// Which ranks are roots: every one, or one.
std::vector<bool> all_roots(const Topology& topology);
std::vector<bool> one_root(const Topology& topology, Rank root);

/// Every root k trees, links as many as they carry in the time k * `shard_times` / shards, where a
/// root's data are `shards` shards; the least k for which these are whole numbers.
/// \throws Error(Unsupported) beyond 64 bits.
CapacityPlan exact_plan(const Topology& topology, const std::vector<bool>& roots,
                        Rational shard_times, std::int64_t shards);

/// Every root `trees` trees, links as many as they carry in the shortest time in which no cut falls
/// short. \throws Error(Unsupported) beyond 64 bits.
CapacityPlan least_time_plan(const Topology& topology, const std::vector<bool>& roots,
                             std::uint32_t trees);

/// Lowers capacities until as much leads into each switch as out of it, and no cut falls short.
/// False if no way to was found; always true where each link has a mate of equal capacity.
bool balance_switches(const Topology& topology, CapacityPlan& plan);

}  // namespace multitree
