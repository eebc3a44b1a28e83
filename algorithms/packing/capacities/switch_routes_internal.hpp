// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shortest routes through switches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/packing/capacities/split_off.hpp"

namespace multitree {

/// Which of the shortest routes is best.
enum class RouteChoice : std::uint8_t {
  /// That with most links the rank has used before, so that ranks keep out of each other's way: on
  /// a
  /// fat-tree each rank of a leaf gets a spine of its own, and shifts of all ranks are free of
  /// contention.
  Own,
  /// That with most capacity left.
  Widest,
};

class SwitchRoutes {
 public:
  /// `pieces`: what is taken at a time is divided among so many routes, if as many have room.
  SwitchRoutes(const Topology& topology, std::span<const std::int64_t> capacity, RouteChoice choice,
               std::int64_t pieces);

  /// Takes `amount` from the capacities along shortest routes from one rank to another that pass
  /// only switches, the best first, and adds them to `arc`; takes nothing and returns false if
  /// they have less.
  bool take(Rank src, Rank dst, std::int64_t amount, RankArc& arc);

 private:
  const std::vector<std::uint32_t>& distances_from(Rank src);
  /// What speaks for a route: how many of its links the rank has used before, if that counts and it
  /// has the capacity that is asked for; then its capacity between switches, where routes differ;
  /// then all of it.
  struct Merit {
    std::uint32_t used_before = 0;
    std::int64_t between_switches = 0, capacity = 0;
    auto operator<=>(const Merit&) const = default;
  };

  /// A search for routes from one rank.
  struct Search {
    NodeId src{};
    std::int64_t amount = 0;
    const std::vector<std::uint32_t>& distance;
    const std::vector<bool>& used;
  };
  Merit best(const Search& search, NodeId node);
  [[nodiscard]] Merit extend(const Search& search, Merit route, LinkId link) const;

  const Topology& topology_;
  RouteChoice choice_;
  std::int64_t pieces_;
  std::vector<std::int64_t> left_;                     // capacity, by link
  std::vector<std::vector<LinkId>> from_switch_;       // into each node
  std::vector<std::vector<std::uint32_t>> distances_;  // [rank][node]; empty until asked for
  std::vector<std::vector<bool>> used_;                // [rank][link]
  std::vector<Merit> merit_;                           // of the best route, by node
  std::vector<LinkId> last_;                           // and its last link
  std::vector<std::uint64_t> known_;                   // the search that found it
  std::uint64_t search_ = 0;
};

}  // namespace multitree
