// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cutting a network whose ranks are all alike into boxes of ranks that are all alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/symmetric/alike_ranks.hpp"

namespace multitree {

/// A coordinate of the ranks, and how those that differ in it alone reach each other.
struct BoxDimension {
  enum class Reach : std::uint8_t {
    Line,  ///< each is linked to the next and the one before
    All,   ///< one message away, all equally
  };
  std::uint32_t size = 1;    ///< of the network
  std::uint32_t box = 1;     ///< of a box: a divisor; with Line, boxes are a power of two
  std::uint32_t stride = 1;  ///< ranks that differ by one
  Reach reach = Reach::All;
  /// Of the whole network: All: by offset 1, 2, ...; Line: one up, one down.
  std::vector<std::uint32_t> generators = {};

  [[nodiscard]] std::uint32_t boxes() const { return size / box; }
  [[nodiscard]] std::uint32_t coordinate(std::uint32_t rank) const { return rank / stride % size; }
};

/// Dimensions with boxes. Ranks of a box are next to each other.
using Boxes = std::vector<BoxDimension>;

/// The ranks of a box.
std::uint32_t box_size(const Boxes& boxes);

/// All boxes that `symmetric?within=` takes, from the smallest to the whole network, each a
/// multiple of the one before: near ranks first over switches, as even as possible over links.
/// Empty where ranks have no coordinates along which they are linked so; `reason` says which.
std::vector<Boxes> box_ladder(const AlikeRanks& ranks, std::string& reason);

/// The boxes of so many ranks. \throws Error(Unsupported) as box_ladder(), Error(InvalidArgument)
/// naming those that there are
Boxes boxes_of(const AlikeRanks& ranks, std::uint32_t within);

/// A box alone, as if its ends were linked, and which generator of the whole network is each of its
/// generators.
struct BoxRanks {
  AlikeRanks ranks;
  std::vector<std::uint32_t> generators;
};
BoxRanks ranks_of_box(const AlikeRanks& whole, const Boxes& boxes);

}  // namespace multitree
