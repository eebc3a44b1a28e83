// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The exact all-reduce optimum of any network, and its proof, by linear programming.
#pragma once

#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The same number.
inline Exact to_exact(const Rational& value) { return {value.numerator(), value.denominator()}; }

/// Whether switches can send as much as they can receive, and no more: then links can be busy all
/// the time in an all-gather, and trees be packed up to the cuts (Bang-Jensen, Frank, Jackson).
bool is_balanced(const Topology& topology);

/// An optimal all-reduce when the message is long: how much each link carries.
struct AllReduceOptimum {
  Exact time = 0;  ///< of the busiest link, in shard times; no schedule of the model beats it
  /// Traffic of each link as a fraction of the buffer: finished data, and partial sums.
  std::vector<Exact> gather, reduce;
  std::vector<Exact> weight;  ///< fraction of the buffer whose root is rank r; the sum is 1
  Certificate certificate;    ///< proves `time`
};

/// Any network: switches, links without mates, bandwidths that differ. Exact: the certificate's
/// bound equals the time of the busiest link. The flows are balanced at switches and leave each
/// node set that misses a rank with at least the set's weight (`reduce`: enter), which is what
/// packing them into trees needs. One rank: zeros.
///
/// Where a few simple cuts prove that reduce-scatter then all-gather is optimal no linear program
/// is solved: the flows then are its (weights 1/ranks). Same topology, same result.
/// \throws Error(Unsupported) as compute_bounds().
AllReduceOptimum solve_all_reduce_lp(const Topology& topology);

}  // namespace multitree
