// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which ports interfaces have, and which links use them.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/parameters.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// Injection and ejection ports of all interfaces, as many of each. Links of a node take its ports
/// in turn: the p-th link out uses injection port p mod count, the p-th link in the same of
/// ejection.
struct Ports {
  std::vector<std::uint32_t> count;  ///< [rank], at least one
  std::vector<std::uint32_t> first;  ///< [rank]: number of its first port among all
  std::vector<std::uint32_t> out;    ///< [link]: injection port among all, if it leaves an endpoint
  std::vector<std::uint32_t> in;     ///< [link]: ejection port among all, if it enters an endpoint
  std::uint32_t all = 0;
};

/// As many as Parameters::ports says; 0: as many as the node has links one way.
Ports ports_of(const Topology& topology, const Parameters& parameters);

}  // namespace multitree::nic
