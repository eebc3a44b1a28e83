// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What no schedule can beat on a network.
#pragma once

#include <boost/rational.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/collective.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Compare with other Rationals only: mixed == with integers recurses for ever under C++20
/// (Boost 1.74).
using Rational = boost::rational<std::int64_t>;

/// Lower bounds, in units of the time that the slowest link takes for 1/N of the buffer ("shard
/// times"). Model: store and forward, reduction at ranks, no coding, no in-network reduction.
struct Bounds {
  std::uint32_t ranks = 0;
  Bandwidth unit_bandwidth;
  /// All-gather: max over node sets S that miss a rank of ranks(S) / bandwidth leaving S, exact
  /// (ForestColl's 1/x*). Reduce-scatter: the same on the transposed network.
  Rational all_gather, reduce_scatter;
  /// The ranks of a bottleneck set S of the all-gather bound.
  std::vector<Rank> bottleneck;
  /// The other side of that cut, all its nodes ascending: what enters it limits the all-gather.
  /// Likewise what leaves the other limits the reduce-scatter. Empty for one rank.
  std::vector<NodeId> all_gather_far, reduce_scatter_far;
  /// Most rank-to-rank hops (through switches only) between two ranks: no schedule that moves data
  /// one such hop a step has fewer steps.
  std::uint32_t diameter = 0;
  /// Two ranks that are so far apart, from the first to the second.
  std::pair<Rank, Rank> far_apart;

  /// all_reduce as reduce-scatter then all-gather.
  [[nodiscard]] Rational all_reduce() const { return all_gather + reduce_scatter; }
  /// Highest algbw (buffer / time) and busbw (nccl-tests) in GB/s = 1e9 B/s for a large all-reduce
  /// by reduce-scatter then all-gather; infinite for one rank.
  [[nodiscard]] double ideal_algbw() const;
  [[nodiscard]] double ideal_busbw() const;
};

/// Exact; O(ranks) augmenting-path flows. \throws Error(Unsupported) if bandwidths differ by so
/// much that exact arithmetic would overflow 64 bits.
Bounds compute_bounds(const Topology& topology);

/// The rank that most rank-to-rank hops (through switches only) lead to, the lowest of equals.
struct FarthestRank {
  Rank rank{};
  std::uint32_t hops = 0;
};
FarthestRank farthest_rank(const Topology& topology, Rank from);
/// Its hops.
std::uint32_t farthest_hops(const Topology& topology, Rank from);

/// Broadcast from `root`: N * unit / min cut from root to any rank, in shard times, exact. `far`
/// receives the side of that cut without the root, ascending (empty for one rank).
Rational broadcast_bound(const Topology& topology, Rank root, std::vector<NodeId>* far = nullptr);

/// The bound of a collective in shard times (of what is reduced: of its mirror image on the
/// transposed network). `far` receives the far side of the cut that proves it: of an all-reduce,
/// which no single cut proves, and for one rank, nothing.
Rational collective_bound(const Bounds& bounds, const Topology& topology, Collective collective,
                          Rank root, std::vector<NodeId>* far = nullptr);

/// busbw factor of nccl-tests: busbw = algbw * factor. AllReduce 2(n-1)/n, what has shards (n-1)/n,
/// Broadcast and Reduce 1. One rank moves nothing over any bus: 0, but for these two.
double busbw_factor(Collective collective, std::uint32_t ranks);

}  // namespace multitree
