// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shortest routes through switches that take the capacity where most is left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/packing/split_off.hpp"

namespace multitree {

class SwitchRoutes {
 public:
  SwitchRoutes(const Topology& topology, std::span<const std::int64_t> capacity);

  /// Takes `amount` from the capacities along shortest routes from one rank to another that pass
  /// only switches, the widest first, and adds them to `arc`; takes nothing and returns false if
  /// they have less.
  bool take(Rank src, Rank dst, std::int64_t amount, RankArc& arc);

 private:
  const std::vector<std::uint16_t>& distances_from(Rank src);
  std::int64_t widest(NodeId src, NodeId node, const std::vector<std::uint16_t>& distance);

  const Topology& topology_;
  std::vector<std::int64_t> left_;                     // capacity, by link
  std::vector<std::vector<LinkId>> from_switch_;       // into each node
  std::vector<std::vector<std::uint16_t>> distances_;  // [rank][node]; empty until asked for
  std::vector<std::int64_t> width_;                    // of the widest route, by node
  std::vector<LinkId> last_;                           // and its last link
  std::vector<std::uint64_t> known_;                   // the search that found it
  std::uint64_t search_ = 0;
};

}  // namespace multitree
