// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules that no generator would make, but that are right.
#pragma once

#include <cstdint>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime::test {

/// A correct schedule of random moves on `full:N`: partial sums that merge in any order, by twos,
/// by swaps and several at once; copies over values that are not needed any more, also over one
/// that is sent in the same step; garbage sent around; empty steps; unequal weights.
Schedule random_schedule(Collective collective, const Topology& topology, Rank root,
                         std::uint32_t seed);

}  // namespace multitree::runtime::test
