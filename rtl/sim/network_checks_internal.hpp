// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What of networks is verilated: what Network refuses before it makes a node.
#pragma once

#include <cstdint>
#include <vector>

#include "rtl/sim/network.hpp"

namespace multitree::rtl {

/// Of a node: out or in, whichever are more.
std::uint32_t links_of(const Topology& topology, NodeId node);
/// Not every kind of node is there with every other choice.
/// \throws Error(Unsupported) saying which are, as the next.
void check_kinds(const Topology& topology, const nic::Parameters& parameters,
                 const std::vector<Rank>& waves, const AxiPorts& axi);
/// \param latency of a link that loses, in cycles
void check_retry(const Topology& topology, const nic::Parameters& parameters,
                 std::uint32_t latency);

}  // namespace multitree::rtl
