// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduces of equal chunks in few steps, for executors that work in steps.
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/schedule.hpp"

namespace multitree {

/// An all-reduce of `chunks` equal chunks in fewer than `most_steps` steps, if the search finds
/// one.
///
/// A broadcast run backwards over the mates of its links is a reduction. So chunks come in pairs of
/// the same root, and each chunk is reduced by the mirror image of its partner's broadcast: a
/// broadcast that starts at step x is a reduction that is over T - x steps after the start. All
/// broadcasts are grown together, step by step: every rank matches its links to chunks that it
/// lacks, those first that have the least time left to go on from there, then those that fewest
/// ranks have. Roots and starts are chosen such that ranks with few links can receive everything in
/// time; where the network has a rotation, all broadcasts are images of a few. What finds no slot
/// is repaired by moving others, and a few trees at a time are grown again until everything arrives
/// within T steps. The effort is bounded and the result always the same.
///
/// \pre `chunks` is even, the network has no switches, is symmetric, and has two ranks at least.
std::optional<Schedule> grow_mirrored(const Topology& topology, std::uint32_t chunks,
                                      std::uint32_t most_steps);

}  // namespace multitree
