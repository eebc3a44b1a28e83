// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Leaves out the parts of a network that carry nothing between ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// True if every rank reaches every other over these links. `is_rank` has one entry a node.
bool joins_ranks(const std::vector<bool>& is_rank, const std::vector<Link>& links);

/// For every node, whether it is a rank or lies on a path between two ranks that visits no node
/// twice. O(nodes + links log links).
std::vector<bool> nodes_that_carry(const std::vector<bool>& is_rank,
                                   const std::vector<Link>& links);

}  // namespace multitree
