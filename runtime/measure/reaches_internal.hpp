// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages to the nearest and to the farthest rank: what of their time is the links'.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "runtime/measure/rounds_internal.hpp"

namespace multitree::runtime::measuring {

/// One rank's part in a reach: ns that a message took from step to step of a chain, on average, in
/// the shortest of the chains that came here. 0 where it is no end.
struct ReachSteps {
  std::int64_t near = 0, far = 0;
};

/// Collective: the ends of one reach after the other answer each other while all other ranks wait
/// for messages. `chain`: what a chain between all neighbours takes. \returns by reach
std::vector<ReachSteps> measure_reaches(Rounds& rounds, Rank self,
                                        const std::vector<Reach>& reaches,
                                        std::chrono::nanoseconds chain);

/// Collective: what both ends of each have measured, so that clocks cancel out.
/// \throws Error(Transport), Error(Timeout) of the bootstrap
std::vector<ReachTimes> gather_reaches(const std::vector<Reach>& reaches,
                                       const std::vector<ReachSteps>& mine, Bootstrap& job,
                                       Deadline timeout);

}  // namespace multitree::runtime::measuring
