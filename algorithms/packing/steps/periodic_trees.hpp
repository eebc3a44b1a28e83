// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees that send the same in every period.
#pragma once

#include <cstdint>

#include "algorithms/packing/steps/period_internal.hpp"
#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule.hpp"

namespace multitree {

/// So many periods of trees, one after the other, each arc at its place in every one: where
/// transfers pass several links, these are busy nearly all the time, which list scheduling
/// (time_trees()) does not reach. Takes as much longer than the periods as the last chunks take to
/// arrive. \pre the period is of this packing, and not empty; periods >= 1
Schedule periodic_trees(const TreePacking& packing, const Topology& topology, const Period& period,
                        std::uint32_t periods);

}  // namespace multitree
