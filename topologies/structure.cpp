// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Structures that several families share.
#include "topologies/structure.hpp"

#include <algorithm>
#include <utility>

#include "topologies/registry.hpp"

namespace multitree {

std::optional<FiniteGroup> grid_group(std::vector<std::uint32_t> sizes, std::uint32_t twist) {
  std::uint64_t product = 1;
  for (const std::uint32_t size : sizes) {
    product *= size;
    if (product == 0 || product > UINT32_MAX) return std::nullopt;
  }
  if (twist > 0 && (sizes.size() < 2 || twist >= sizes[0])) return std::nullopt;
  return FiniteGroup::grid(std::move(sizes), twist);
}

Structure grid_structure(std::vector<std::uint32_t> sizes, Line line, std::string_view part) {
  Structure structure;
  if (line != Line::Path) structure.group = grid_group(sizes);
  structure.grid = Grid{std::move(sizes), line, part};
  return structure;
}

namespace {

/// Sizes for so many ranks, the first one found where it is 0; false if there are none.
bool fill_in(std::vector<std::uint32_t>& sizes, std::uint32_t ranks) {
  std::uint64_t product = 1;
  for (const std::uint32_t size : sizes) {
    product = std::min<std::uint64_t>(product * std::max(size, 1U), UINT32_MAX);
  }
  if (!sizes.empty() && sizes.front() == 0 && ranks % product == 0) {
    sizes.front() = static_cast<std::uint32_t>(ranks / product);
    return true;
  }
  return product == ranks && std::ranges::count(sizes, 0U) == 0;
}

}  // namespace

/// A file may say any sizes, and a changed network has fewer ranks than its shape or has switches
/// where ranks were: only what fits is kept.
Structure structure_of(const Topology& topology) {
  Structure structure = family_structure(topology.shape());
  if (structure.grid) {
    std::uint64_t product = 1;
    for (const std::uint32_t size : structure.grid->sizes) {
      product = std::min<std::uint64_t>(product * size, UINT32_MAX);
    }
    if (product != topology.num_ranks() || topology.has_switches()) structure.grid.reset();
  }
  const bool moves_ranks = structure.group && structure.group->size() == topology.num_ranks();
  if (!moves_ranks || topology.has_switches()) structure.group.reset();
  if (structure.levels && !fill_in(structure.levels->sizes, topology.num_ranks())) {
    structure.levels.reset();
  }
  return structure;
}

}  // namespace multitree
