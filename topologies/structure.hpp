// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a family knows of its networks beyond nodes and links. Algorithms ask here whether they
/// serve a network, so that a new family needs no line in any of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "topologies/finite_group.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// How the ranks of a line of a grid are linked: those that differ in one coordinate only.
enum class Line : std::uint8_t {
  Path,      ///< each with the next
  Ring,      ///< the last with the first as well, where there are more than two
  Complete,  ///< each with all
};

/// Rank r has coordinates r = x0 + d0*(x1 + d1*(x2 + ...)), and is linked along lines only.
struct Grid {
  std::vector<std::uint32_t> sizes;
  Line line = Line::Path;
  /// The family of an aligned box whose dimensions above 2 are all cut; empty: of no family.
  std::string_view part;
};

/// Ranks that meet level by level, as GPUs in a box and boxes on a network: rank r has coordinates
/// r = x0 + s0*(x1 + s1*(x2 + ...)), and those that differ in one coordinate alone reach each other
/// over the links of that level.
struct RankLevels {
  /// Whose way up is asked for.
  struct Place {
    const std::vector<std::uint32_t>& dims;  ///< Shape::dims
    std::uint32_t ranks, level, rank;
  };
  std::vector<std::uint32_t> sizes;  ///< the first may be 0: as many as the others leave
  /// The nodes from a rank up to where it meets the others of its level, that switch last. What
  /// they send down passes the same nodes backwards. Empty: a link leads to each of them.
  std::vector<std::uint32_t> (*way_up)(const Place& place) = nullptr;
};

/// Links may be missing and speeds differ, as a changed network keeps the structure while it has
/// all ranks: who depends on links compares them.
struct Structure {
  std::optional<Grid> grid = std::nullopt;
  /// Rank r is element r: multiplying all ranks by one on the left moves links to links.
  std::optional<FiniteGroup> group = std::nullopt;
  /// Ranks on switches in two layers, each switch linked to those of the other layer.
  bool facing_layers = false;
  std::optional<RankLevels> levels = std::nullopt;
};

/// What the family of the network's shape says of it, as far as it fits these ranks and switches;
/// nothing where the family is unknown. O(sizes).
Structure structure_of(const Topology& topology);

/// What a shape's family says of it, whether or not a network has that many ranks.
Structure family_structure(const Shape& shape);

/// A grid, and the group that moves it if it has no ends.
Structure grid_structure(std::vector<std::uint32_t> sizes, Line line, std::string_view part = {});

/// FiniteGroup::grid(), or empty if it has no group of these sizes.
std::optional<FiniteGroup> grid_group(std::vector<std::uint32_t> sizes, std::uint32_t twist = 0);

}  // namespace multitree
