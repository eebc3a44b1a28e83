// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What there is to know of a network whose ranks are all alike: one rank's arcs and links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/cayley.hpp"
#include "topologies/families.hpp"

namespace multitree {

/// The links of a network up to translation: one orbit stands for a link of each rank. A message
/// along a generator's arc passes the orbits of its way in order, whichever rank sends it; so what
/// loads an orbit for one rank's tree loads each link of it for the translates of all ranks.
struct LinkOrbits {
  struct Orbit {
    Bandwidth bandwidth{};
    Time latency{};
    std::uint32_t slots = 1;  ///< Topology::slots()
  };
  std::vector<Orbit> orbits;
  std::vector<std::vector<std::uint32_t>> ways;  ///< the first orbit leaves the sender
  std::vector<std::uint32_t> way_of;             ///< of each generator

  [[nodiscard]] std::span<const std::uint32_t> way(std::uint32_t generator) const {
    return ways[way_of[generator]];
  }
  /// Bytes a second that leave a rank over the generators from `first` on, each link once.
  [[nodiscard]] std::uint64_t bandwidth_out(std::uint32_t first = 0) const;
  /// The slots of these links.
  [[nodiscard]] std::uint64_t slots_out(std::uint32_t first = 0) const;
  /// The slowest link's.
  [[nodiscard]] Bandwidth unit_bandwidth() const;
};

/// Rank r is element r. Left translations move links to links.
struct AlikeRanks {
  CayleyGraph graph;
  LinkOrbits links;
  /// Ranks that meet at switches: sizes of the levels (RankLevels::sizes). Generators of a level
  /// are behind those of the levels below. Empty: ranks are linked to each other.
  std::vector<std::uint32_t> levels = {};

  /// The first generator of a level. \pre levels.
  [[nodiscard]] std::uint32_t first_generator(std::size_t level) const;
};

/// A link for each generator, the same for all or as given.
AlikeRanks linked_ranks(CayleyGraph graph, std::span<const LinkSpeed> speeds = {});

}  // namespace multitree
