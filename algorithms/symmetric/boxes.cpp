// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Coordinates whose ranks are linked in a line or all with all, and divisors of their sizes.
#include "algorithms/symmetric/boxes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Whether messages along two generators take the same time.
bool are_equal(const LinkOrbits& links, std::uint32_t a, std::uint32_t b) {
  return std::ranges::equal(links.way(a), links.way(b), [&](std::uint32_t x, std::uint32_t y) {
    return links.orbits[x].bandwidth == links.orbits[y].bandwidth &&
           links.orbits[x].latency == links.orbits[y].latency;
  });
}

/// How the ranks of a dimension reach each other, by the offsets of its generators.
std::optional<BoxDimension::Reach> reach_of(const std::vector<std::uint32_t>& offsets,
                                            std::uint32_t size) {
  if (size == 2) return BoxDimension::Reach::All;  // maybe over several links
  std::vector<std::uint32_t> all(size - 1);
  std::iota(all.begin(), all.end(), 1U);
  if (offsets == all) return BoxDimension::Reach::All;
  if (offsets == std::vector{1U, size - 1}) return BoxDimension::Reach::Line;
  return std::nullopt;
}

/// The dimensions, each a box of its own size.
std::optional<Boxes> dimensions_of(const AlikeRanks& ranks, std::string& reason) {
  const CayleyGraph& graph = ranks.graph;
  const FiniteGroup& group = graph.group();
  if (group.twist() != 0 || (group.sizes().empty() && graph.size() > 1)) {
    reason = "expected ranks with coordinates, got a network that is twisted or of permutations";
    return std::nullopt;
  }
  Boxes boxes;
  std::size_t used = 0;
  for (std::uint32_t stride = 1; const std::uint32_t size : group.sizes()) {
    BoxDimension dimension{.size = size, .box = size, .stride = stride};
    std::vector<std::uint32_t> offsets;
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      const std::uint32_t element = graph.generators()[s];
      if (element % stride != 0 || element / stride >= size) continue;
      dimension.generators.push_back(s);
      offsets.push_back(element / stride);
    }
    used += offsets.size();
    stride *= size;
    if (size == 1) continue;
    const auto reach = reach_of(offsets, size);
    const bool equal = std::ranges::all_of(dimension.generators, [&](std::uint32_t s) {
      return are_equal(ranks.links, s, dimension.generators.front());
    });
    if (!reach || !equal) {
      reason = fmt::format(
          "expected ranks that differ in one coordinate to be linked in a line or all with all, "
          "equally, got others among {}",
          size);
      return std::nullopt;
    }
    dimension.reach = *reach;
    boxes.push_back(std::move(dimension));
  }
  if (used == graph.degree()) return boxes;
  reason = "expected links between ranks that differ in one coordinate, got others";
  return std::nullopt;
}

/// The least boxes: those of a line are a power of two, as the ways of messages between them are to
/// cover it without a gap.
void make_least(Boxes& boxes) {
  for (BoxDimension& d : boxes) {
    d.box = d.reach == BoxDimension::Reach::All ? 1 : d.size >> std::countr_zero(d.size);
  }
}

std::uint32_t least_factor(std::uint32_t number) {
  for (std::uint32_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return factor;
  }
  return number;
}

/// Next larger boxes. \pre they are not all.
void grow(Boxes& boxes, bool by_level) {
  BoxDimension* least = nullptr;
  for (BoxDimension& d : boxes) {
    if (d.boxes() > 1 && (least == nullptr || (!by_level && d.box < least->box))) least = &d;
  }
  least->box *= least_factor(least->boxes());
}

}  // namespace

std::uint32_t box_size(const Boxes& boxes) {
  std::uint32_t ranks = 1;
  for (const BoxDimension& d : boxes) ranks *= d.box;
  return ranks;
}

std::vector<Boxes> box_ladder(const AlikeRanks& ranks, std::string& reason) {
  auto dimensions = dimensions_of(ranks, reason);
  if (!dimensions) return {};
  make_least(*dimensions);
  std::vector<Boxes> ladder = {*dimensions};
  while (box_size(ladder.back()) < ranks.graph.size()) {
    ladder.push_back(ladder.back());
    grow(ladder.back(), !ranks.levels.empty());
  }
  return ladder;
}

Boxes boxes_of(const AlikeRanks& ranks, std::uint32_t within) {
  std::string reason;
  const std::vector<Boxes> ladder = box_ladder(ranks, reason);
  if (ladder.empty()) {
    throw Error(ErrorCode::Unsupported, "symmetric: within: " + reason);
  }
  const auto found = std::ranges::find(ladder, within, box_size);
  if (found != ladder.end()) return *found;
  std::vector<std::uint32_t> sizes;
  for (const Boxes& boxes : ladder) sizes.push_back(box_size(boxes));
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("symmetric: within: expected ranks of a box ({}), got {}",
                          fmt::join(sizes, ", "), within));
}

BoxRanks ranks_of_box(const AlikeRanks& whole, const Boxes& boxes) {
  std::vector<std::uint32_t> sizes, generators, elements;
  for (std::uint32_t stride = 1; const BoxDimension& d : boxes) {
    sizes.push_back(d.box);
    const bool line = d.reach == BoxDimension::Reach::Line;
    for (std::size_t i = 0; d.box > 1 && i < d.generators.size(); ++i) {
      std::uint32_t offset = d.size == 2 ? 1 : static_cast<std::uint32_t>(i) + 1;
      if (line) offset = i == 0 ? 1 : d.box - 1;
      if (offset >= d.box) break;
      elements.push_back(offset * stride);
      generators.push_back(d.generators[i]);
    }
    stride *= d.box;
  }
  LinkOrbits links{.orbits = whole.links.orbits, .ways = whole.links.ways, .way_of = {}};
  for (const std::uint32_t s : generators) links.way_of.push_back(whole.links.way_of[s]);
  return {.ranks = {.graph = CayleyGraph(FiniteGroup::grid(sizes), std::move(elements)),
                    .links = std::move(links),
                    .levels = whole.levels.empty() ? std::vector<std::uint32_t>{} : sizes},
          .generators = std::move(generators)};
}

}  // namespace multitree
