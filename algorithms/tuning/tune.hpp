// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The best schedule for every size, by predicted time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/cost.hpp"
#include "algorithms/tuning/plan.hpp"
#include "topologies/topology.hpp"

namespace multitree {

struct TuneOptions {
  std::uint64_t first = 8, last = std::uint64_t{1} << 30;  ///< sizes of interest, in bytes
  CostModel cost;
  /// The same network with the times that count, if not its own (with_times()): schedules are made
  /// for the one and priced on the other.
  const Topology* priced = nullptr;
  /// Algorithm specs to choose among; empty: candidate_specs().
  std::vector<std::string> algorithms;
  /// Only who wins is asked: what cannot win at a size is not priced there, algorithms that ask for
  /// the size are made for those sizes alone where they could win, and TuneCandidate::times are
  /// left empty. For starting a job.
  bool winners_only = false;
  /// TuneCandidate::times are wanted. Without them as good a choice is made, sooner: what cannot
  /// win at a size is not priced there, and algorithms that ask for the size are not made for one
  /// where another is within 1% of what the network takes at least.
  bool all_times = true;
  /// Told what is being generated and what share of all is over, by one thread at a time; may be
  /// empty.
  std::function<void(std::string_view spec, double over)> on_candidate;
};

/// A range of sizes and who is fastest there. Times are predictions at `from` and at `to`.
struct TunedRange {
  std::uint64_t from = 0, to = 0;  ///< bytes, both included
  std::size_t candidate = 0;
  Time time_from, time_to;
};

/// An algorithm that was tried.
struct TuneCandidate {
  std::string spec;
  Schedule schedule;
  /// Predicted at TuneResult::sizes, if wanted.
  std::vector<Time> times;
  /// Why the network does not allow it; then there is no schedule.
  std::string unsupported;
};

/// All candidates and, for every size, the best: the Pareto set over the size.
struct TuneResult {
  std::vector<std::uint64_t> sizes;  ///< where all were compared
  std::vector<TuneCandidate> candidates;
  std::vector<TunedRange> ranges;  ///< from options.first to options.last, without gaps

  /// The winners, for all sizes: the last range's schedule also serves what is larger.
  [[nodiscard]] SizedSchedules plan() const;
};

/// All registered algorithms, and the variants that they name (Algorithm::variants), but `auto` and
/// `in-network`, whose schedules are not executed by processes.
std::vector<std::string> candidate_specs();

/// Generates and verifies every candidate, predicts its time at sizes a factor of 4 apart, and
/// finds each crossover to 1/64 of its size by bisection. Of equally fast schedules, the one with
/// fewer transfers wins, then the one listed first. Algorithms that ask for the size and the cost
/// of a message are told both (told()), and are a candidate for each of the sizes. A range whose
/// schedule is nowhere in it 1% faster than what others could do is left to those beside it, so
/// that what is chosen is within 1% of the fastest. Deterministic.
///
/// Between two compared sizes with the same winner no other is looked for: a candidate that wins
/// only inside a factor of 4 is missed.
/// \throws Error(InvalidArgument) for sizes or algorithms, Error(Unsupported) if no candidate
/// serves the network.
TuneResult tune(const Topology& topology, Collective collective, Rank root,
                const TuneOptions& options);

}  // namespace multitree
