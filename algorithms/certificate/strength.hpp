// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The strength of a network: how much of a buffer can be reduced and spread over trees at once.
#pragma once

#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The weakest partition of a network's nodes.
struct Strength {
  /// Least b(E_P) / (|P| - 1) over the partitions P of the nodes into at least two classes: the
  /// bandwidth one way between different classes, in units of the slowest link's, over the classes
  /// but one. An all-reduce takes ranks / value shard times at least, and no more (Nash-Williams,
  /// Tutte: it is the maximum fractional packing of spanning trees). 0 for one rank.
  Exact value = 0;
  /// A partition that attains it, the finest that was met: classes ascending, and by first node.
  std::vector<std::vector<NodeId>> classes;
};

/// Whether strength() is defined: no switches, and as much bandwidth one way as the other between
/// any two nodes.
[[nodiscard]] bool has_strength(const Topology& topology);

/// Exact. Newton's method on the ratio; a round is one greedy pass over the nodes (Cunningham 1985,
/// Barahona 1992) that keeps its flow, O(nodes * links) at worst.
/// \throws Error(Unsupported) without has_strength().
[[nodiscard]] Strength strength(const Topology& topology);

}  // namespace multitree
