// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The networks that ASTRA-sim's analytical backend knows: dimensions of a grid of ranks.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

enum class AstraKind : std::uint8_t { Ring, FullyConnected, Switch };
inline constexpr std::array<std::string_view, 3> kAstraKindNames = {"Ring", "FullyConnected",
                                                                    "Switch"};

/// One a list entry of the file; all of its links are alike.
struct AstraDimension {
  AstraKind kind{};
  std::uint32_t size = 0;
  Bandwidth bandwidth;
  Time latency;
};

/// Rank r has the coordinate r / stride % size in a dimension; its peers there differ in it only.
Topology astra_network(const std::vector<AstraDimension>& dims, const std::string& name);

}  // namespace multitree
