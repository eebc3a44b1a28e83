// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees in as many pieces as are worth their messages.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule_store_internal.hpp"

namespace multitree {

/// Keeps what is made of trees by its name among all of the network: as it is, or as what becomes
/// of it.
using Keep =
    std::function<SharedSchedule(const std::string& name, const std::function<Schedule()>& make)>;
/// As it is.
Keep keep_for(const Topology& topology);

/// What time_trees() of a packing takes at least, in pieces or not.
Time least_time(const TreePacking& packing, const Topology& topology, std::uint64_t bytes,
                Time message);

/// time_trees() with `most.segments`, what is best for links alone, or with half as many, a quarter
/// and so on, as long as that is faster for `bytes` where every message costs its sender `message`.
/// `name`: of the packing, among all of the network.
SharedSchedule time_trees_in_pieces(const std::string& name, const TreePacking& packing,
                                    const Topology& topology, const TimingOptions& most,
                                    std::uint64_t bytes, Time message, const Keep& keep);

/// Whether transfers pass several links.
bool has_long_routes(const TreePacking& packing);

/// Whether transfers pass several links of one rate, where periods are better than list scheduling.
bool serves_periods(const TreePacking& packing, const Topology& topology);

/// periodic_trees() in as many periods as are worth their messages, as time_trees_in_pieces().
/// Null where even one period has more messages than links have to do, or is too large.
SharedSchedule time_trees_in_periods(const std::string& name, const TreePacking& packing,
                                     const Topology& topology, std::uint64_t bytes, Time message,
                                     const Keep& keep);

}  // namespace multitree
