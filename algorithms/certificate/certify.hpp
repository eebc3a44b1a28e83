// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds the best bound of a collective on a network, with its proof.
#pragma once

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certificate.hpp"
#include "algorithms/collective.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Up to so many nodes the linear program takes a few seconds at most; 128 may take a minute.
inline constexpr std::uint32_t kQuickProgramNodes = 64;

struct Certified {
  Certificate certificate;
  /// Whether schedules of the model come as near to the bound as one likes, so that it is the
  /// optimum. False: a valid bound that may be too low (a switch whose bandwidths in and out
  /// differ; an all-reduce on a network too large for the linear program).
  bool exact = false;
};

/// All-gather, reduce-scatter, broadcast, reduce: a minimum cut, exact if every switch has as much
/// bandwidth in as out. All-reduce: the binding partition of strength() where that is defined;
/// elsewhere the smallest tight cuts of the all-gather if they prove that reduce-scatter then
/// all-gather is optimal, else the linear program (all_reduce_lp.hpp).
/// \pre bounds = compute_bounds(topology).
/// `most_program_nodes`: where only the linear program is exact, it is solved up to so many nodes.
/// \throws Error(InvalidArgument) if there is no such root, Error(Unsupported) as compute_bounds().
[[nodiscard]] Certified certify(const Topology& topology, const Bounds& bounds,
                                Collective collective, Rank root = Rank{0},
                                std::uint32_t most_program_nodes = kQuickProgramNodes);

/// The same, computing the bounds first.
[[nodiscard]] Certified certify(const Topology& topology, Collective collective,
                                Rank root = Rank{0});

}  // namespace multitree
