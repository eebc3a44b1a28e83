// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recognising a network whose ranks are all alike, over links or over switches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/symmetric/alike_ranks.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Such a network, and which links are an arc's.
class AlikeNetwork {
 public:
  /// The links up to where the ranks of a level meet, [rank * hops + hop]; or without a switch to
  /// each of them, [rank * generators + generator].
  struct Level {
    bool direct = false;
    std::uint32_t first_generator = 0;
    std::uint32_t links_per_rank = 0;
    std::vector<LinkId> links;
  };
  AlikeNetwork(const Topology& topology, AlikeRanks ranks, std::vector<Level> levels)
      : topology_(&topology), ranks_(std::move(ranks)), levels_(std::move(levels)) {}

  [[nodiscard]] const AlikeRanks& ranks() const { return ranks_; }
  /// The links from an element along a generator. \pre the topology is alive.
  [[nodiscard]] std::vector<LinkId> route(std::uint32_t element, std::uint32_t generator) const;

 private:
  const Topology* topology_;
  AlikeRanks ranks_;
  std::vector<Level> levels_;
};

/// As find_cayley_network(); or the network's structure has levels, and the ways up that it tells
/// are there, equally fast for all ranks, and no two ranks' ways up share a link. Otherwise empty,
/// and `reason` says why. O(links).
std::optional<AlikeNetwork> find_alike_network(const Topology& topology, std::string& reason);

}  // namespace multitree
