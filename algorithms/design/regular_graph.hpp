// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks in which every rank has as many cables, found by search.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace multitree {

/// How far apart ranks are: compared by the farthest, then by the sum.
struct Spread {
  std::uint32_t hops = 0;       ///< between the two ranks that are farthest apart
  std::uint64_t distances = 0;  ///< of all pairs, one way and the other
  auto operator<=>(const Spread&) const = default;
};

using Cables = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Of a network of `ranks` with these cables; all hops if a rank cannot be reached.
/// O(ranks^2 * ports * hops / 64).
Spread spread_of(const Cables& cables, std::uint32_t ranks);

/// Cables between different ranks, `ports` at each, no two alike: a random choice, improved by
/// exchanging the ends of two cables as long as that brings ranks no farther apart. The same for
/// the same seed. \pre degree_bound() accepts the numbers
Cables search_regular(std::uint32_t ranks, std::uint32_t ports, std::uint64_t seed);

}  // namespace multitree
