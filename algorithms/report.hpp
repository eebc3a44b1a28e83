// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A schedule in numbers, each next to its bound.
#pragma once

#include <cstdint>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certificate.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

struct ScheduleReport {
  std::uint32_t ranks = 0, chunks = 0;
  std::uint64_t transfers = 0;
  /// Steps of the gathering half (all-reduces that have one), or of the whole schedule.
  std::uint32_t steps = 0;
  std::uint32_t total_steps = 0;
  /// Least steps, by the optimum (of the all-gather; of the whole) and, for schedules that move one
  /// rank-to-rank hop a step, by the hops that data has to travel.
  std::uint32_t bound_steps = 0, bound_total_steps = 0;
  double bound_ratio = 1;  ///< total_steps / bound_total_steps; 1 if both are 0
  /// Duration of a step: the largest chunk over the slowest link, as a fraction of the whole
  /// buffer.
  double step_fraction = 0;
  std::uint32_t depth = 0;  ///< longest chain of dependent transfers of one chunk
  /// Sums: on how many messages a rank's contribution travels until the result is whole, the mean
  /// over ranks and bytes. Decides what is lost where messages are, and what rounding at each
  /// message costs. 0 without sums.
  double mean_hops = 0;
  bool contention_free = false;
  double predicted_seconds = 0;  ///< predict_time() at `bytes`, by the cost given
  double bound_seconds = 0;      ///< what the certificate proves, at `bytes`
  /// All-reduce by reduce-scatter then all-gather at best; the same as bound_seconds otherwise.
  double two_phase_bound_seconds = 0;
  /// In shard times, exact: what the certificate proves, and the time of the busiest link.
  Exact bound = 0, load = 0;
  std::uint64_t bytes = 0;
};

/// \pre bounds = compute_bounds(topology); the certificate is for the schedule's collective and
/// root (certify()).
ScheduleReport make_report(const Schedule& schedule, const Topology& topology, const Bounds& bounds,
                           const Certificate& certificate, std::uint64_t bytes,
                           const CostModel& cost = {});

/// Shard times of a buffer of `bytes` in seconds; 0 without links.
double seconds_of(const Exact& shard_times, const Topology& topology, std::uint64_t bytes);

}  // namespace multitree
