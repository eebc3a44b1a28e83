// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What every packing of out-trees must satisfy, checked arc by arc.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "algorithms/packing/trees/tree_packing.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Integer capacities and the trees per root at which the all-gather bound is met.
struct ScaledDemand {
  std::vector<std::int64_t> capacity;  ///< by link
  std::int64_t trees = 1;              ///< of each root
};
ScaledDemand scale_to_all_gather_bound(const Topology& topology);

/// Reports (gtest failures) trees that do not span or whose routes do not fit together, weights of
/// a root's trees that do not sum to its demand, and links over capacity.
void expect_packs(const TreePacking& packing, const Topology& topology,
                  std::span<const std::int64_t> capacity, std::span<const std::int64_t> demand);

/// Shape of a random network.
struct RandomNetwork {
  std::uint32_t ranks = 1, switches = 0;
  std::uint32_t extra_links = 0;     ///< duplex, above a spanning tree
  std::uint32_t most_bandwidth = 1;  ///< of a link, in multiples of the least
};

/// Duplex links at random, parallel ones and switches that lead nowhere included.
Topology random_network(std::mt19937_64& random, const RandomNetwork& shape);

/// A number from 0 to `below` - 1, the same with every standard library.
std::uint32_t pick(std::mt19937_64& random, std::uint32_t below);

}  // namespace multitree
