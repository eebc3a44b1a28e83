// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random networks of every kind for tests of what holds on all of them.
#pragma once

#include <cstdint>
#include <random>

#include "topologies/topology.hpp"

namespace multitree::test {

enum class NetworkKind : std::uint8_t {
  Direct,             ///< no switches, links both ways of equal bandwidth
  DirectOneWay,       ///< no switches, some links one way only
  Switched,           ///< switches, links both ways of equal bandwidth
  SwitchedOneWay,     ///< switches that can send what they receive, links one way
  SwitchedUnbalanced  ///< switches and links at random
};
inline constexpr std::uint32_t kNetworkKinds = 5;

/// A strongly connected network of at most `most_nodes` nodes, parallel links included. The same
/// with every standard library. \pre most_nodes >= 1.
Topology random_of_kind(std::mt19937_64& random, NetworkKind kind, std::uint32_t most_nodes);

}  // namespace multitree::test
