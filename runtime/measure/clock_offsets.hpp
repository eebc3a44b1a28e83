// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// By how much the clocks of ranks differ.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

/// What a rank's clock shows more than rank 0's at the same moment, in ns.
struct ClockOffset {
  std::int64_t ns = 0;
  std::int64_t error_ns = 0;  ///< the truth is at most so far away
  bool operator==(const ClockOffset&) const = default;
};

/// What a rank's clock showed when it entered and left one barrier, in ns.
struct BarrierTimes {
  std::int64_t entered = 0, left = 0;
};

/// Nobody leaves a barrier before all have entered it: every barrier bounds the difference from
/// both sides. \pre both have the same barriers, at least one
ClockOffset offset_from_barriers(const std::vector<BarrierTimes>& rank0,
                                 const std::vector<BarrierTimes>& other);

/// Collective: of CLOCK_MONOTONIC, by rank, the same answer at every rank. Ranks of one host have
/// the same clock and are not measured; others through `rounds` barriers of the bootstrap.
/// \throws as Bootstrap::all_gather()
std::vector<ClockOffset> clock_offsets(Bootstrap& bootstrap, Deadline deadline, int rounds = 16);

/// Collective: the same of any clock, by barriers only.
std::vector<ClockOffset> measure_offsets(Bootstrap& bootstrap, Deadline deadline, int rounds,
                                         const std::function<std::int64_t()>& now);

}  // namespace multitree::runtime
