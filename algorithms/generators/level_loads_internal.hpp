// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sharing a level's arrivals at one node evenly among its links.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

namespace multitree {

/// Units that may arrive by any of the links listed (ascending positions).
struct Arrivals {
  std::vector<std::uint32_t> links;
  std::uint64_t units = 0;
  bool operator==(const Arrivals&) const = default;
  // Not <=>: not every standard library has that of vectors.
  bool operator<(const Arrivals& other) const {
    return std::tie(links, units) < std::tie(other.links, other.units);
  }
};

/// units[i][j]: how many of arrivals[i] come by arrivals[i].links[j].
struct LevelLoads {
  std::uint64_t steps = 0;  ///< the most that any link needs, and the least possible
  std::vector<std::vector<std::uint64_t>> units;
};

/// Divides the arrivals among links that carry slots[l] units a step, in as few steps as possible.
///
/// A maximum flow for the number of steps that is surely needed; where it falls short, the links on
/// the far side of its minimum cut need more (Hall's condition), and so on. Exact.
LevelLoads share_level(const std::vector<Arrivals>& arrivals,
                       const std::vector<std::uint32_t>& slots);

}  // namespace multitree
