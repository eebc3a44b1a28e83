// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The all-to-all of networks that look the same from every rank, kept as the paths of one rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/symmetric/cayley_network.hpp"
#include "algorithms/traffic/routed_demand.hpp"

namespace multitree {

/// A tree from rank 0: the generator that leads to each element, and the element before it. Its
/// translates are the trees of all ranks.
struct OrbitTree {
  std::vector<std::uint32_t> parent, generator;
  std::uint64_t weight = 0;  ///< how much of what is for an element comes along this tree, in parts
};

/// As all ranks do the same, a link carries what rank 0's trees send over its generator: only one
/// source is routed. The least load is a linear program with a row for each generator: its columns
/// are trees, the cheapest at the current prices is added until none is cheaper than those in use,
/// in fractions, so the optimum is exact. O(ranks) memory.
class OrbitFlow {
 public:
  OrbitFlow(CayleyNetwork network, std::vector<OrbitTree> trees, std::vector<Exact> prices);

  [[nodiscard]] const std::vector<OrbitTree>& trees() const { return trees_; }
  /// Sum of the weights of the trees.
  [[nodiscard]] std::uint64_t parts() const;
  /// Of every rank's shard of one unit for each rank: time of the busiest link in shard times.
  [[nodiscard]] Exact load() const;
  /// Of all links, by their generators: they prove that no load is less.
  [[nodiscard]] std::vector<LinkPrice> prices() const;
  /// The paths of all pairs. O(ranks^2 * diameter * trees).
  [[nodiscard]] std::vector<FlowPath> paths() const;

 private:
  CayleyNetwork network_;
  std::vector<OrbitTree> trees_;
  std::vector<Exact> price_of_generator_;
};

/// Empty where the network is no Cayley graph with equal links, or has one rank.
std::optional<OrbitFlow> find_orbit_flow(const Topology& topology);

}  // namespace multitree
