// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Least latencies between nodes, whatever routes pass through.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

enum class Along : std::uint8_t { Links, LinksBackwards };

inline constexpr std::int64_t kNoWay = std::numeric_limits<std::int64_t>::max();

/// Of each node, picoseconds from the nearest of `sources` along links, or to it backwards along
/// them; kNoWay where there is no way.
std::vector<std::int64_t> latencies_from(std::span<const NodeId> sources, const Topology& topology,
                                         Along along);

/// Of each rank, picoseconds from the nearest other rank; kNoWay where there is none.
std::vector<std::int64_t> nearest_latencies(const Topology& topology);

/// From (or to) `rank` to all other ranks, ascending.
std::vector<std::int64_t> rank_latencies(Rank rank, const Topology& topology, Along along);

}  // namespace multitree
