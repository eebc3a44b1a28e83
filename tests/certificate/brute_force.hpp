// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Optima by enumeration of all cuts or all partitions: oracles for small networks.
#pragma once

#include "algorithms/certificate/certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree::test {

/// All in shard times. \pre at most 16 nodes, 2^nodes steps or worse.

/// The worst cut of an all-gather; a lower bound, and the optimum where switches are balanced.
Exact all_gather_by_cuts(const Topology& topology);

/// The linear programme of docs/optimality.md with the rows of all cuts, rounded.
double all_reduce_by_program(const Topology& topology);

/// The weakest partition. \pre no switches, is_symmetric().
Exact all_reduce_by_partitions(const Topology& topology);

}  // namespace multitree::test
