// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules in fewer and larger pieces, for formats that have room for few.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The most chunks that one tree has.
std::uint32_t pieces_of(const Schedule& schedule);

/// Each tree with so many chunks of equal weight, on the ways of its first one, pipelined as
/// densely as links allow. Loads stay what they are. nullopt where the chunks of a tree do not all
/// travel the same way, or the weights would exceed kMaxWeights. \pre pieces >= 1, the schedule
/// verifies.
std::optional<Schedule> in_pieces(const Schedule& schedule, std::uint32_t pieces,
                                  const Topology& topology);

/// The schedule itself if it fits, else the one with the most pieces, a power of two, that does;
/// nullopt if there is none.
std::optional<Schedule> fitting(const Schedule& schedule, const Topology& topology,
                                const std::function<bool(const Schedule&)>& fits);

}  // namespace multitree
