// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds where TimeReason::Growth is strongest.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/growth_internal.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// In floating point; what is found is evaluated by growth_time().
class GrowthFinder {
 public:
  /// \pre `nearest` is nearest_latency(). Finds nothing where messages cost nothing, or switches
  /// copy.
  GrowthFinder(const Topology& topology, Collective collective, Rank root, std::int64_t nearest,
               Time overhead);

  struct Found {
    double time = 0;  ///< picoseconds; 0 if there is nothing to find
    Time doubling{}, rest{};
    Rank source{};
  };
  [[nodiscard]] Found at(std::uint64_t bytes) const;

 private:
  /// A kind of target at a size, and what it needs.
  struct Priced {
    double need = 0, rate = 0, price = 0;  // bytes, bytes a picosecond, of a byte
  };
  [[nodiscard]] Found with_doubling(double doubling, std::uint64_t bytes) const;

  GrowthNeed need_;
  bool has_root_;
  Rank root_;
  double overhead_;
  std::vector<GrowthTarget> targets_;
  std::vector<double> doublings_;  // that are worth trying
};

}  // namespace multitree
