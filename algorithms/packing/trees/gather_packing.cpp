// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From bounds to capacities to trees.
#include "algorithms/packing/trees/gather_packing.hpp"

#include <fmt/format.h>

#include "algorithms/bounds.hpp"
#include "algorithms/packing/capacities/capacity_plan_internal.hpp"
#include "algorithms/packing/trees/arborescences.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

TreePacking pack(const Topology& topology, CapacityPlan plan) {
  if (!balance_switches(topology, plan)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected as much bandwidth into each switch as out of it, or the "
                            "difference not to be needed",
                            topology.name()));
  }
  return pack_arborescences(topology, plan.capacity, plan.demand);
}

/// One rank has nothing to send, but its shard still has a tree.
CapacityPlan trivial_plan(const Topology& topology) {
  return {std::vector<std::int64_t>(topology.num_links(), 0), {1}};
}

}  // namespace

TreePacking pack_all_gather(const Topology& topology, std::uint32_t trees_per_root) {
  if (topology.num_ranks() == 1) return pack(topology, trivial_plan(topology));
  const std::vector<bool> roots = all_roots(topology);
  if (trees_per_root > 0) return pack(topology, least_time_plan(topology, roots, trees_per_root));
  return pack(topology, exact_plan(topology, roots, compute_bounds(topology).all_gather, 1));
}

TreePacking pack_broadcast(const Topology& topology, Rank root, std::uint32_t trees) {
  TreePacking packing;
  if (topology.num_ranks() == 1) {
    packing = pack(topology, trivial_plan(topology));
  } else if (trees > 0) {
    packing = pack(topology, least_time_plan(topology, one_root(topology, root), trees));
  } else {
    packing = pack(topology, exact_plan(topology, one_root(topology, root),
                                        broadcast_bound(topology, root), topology.num_ranks()));
  }
  packing.collective = Collective::Broadcast;
  packing.root = root;
  return packing;
}

}  // namespace multitree
