// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedules that an algorithm's name stands for when they are run: one, or with `auto` one for
/// every range of sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/tuning/link_table.hpp"
#include "algorithms/tuning/plan.hpp"
#include "topologies/topology.hpp"

namespace multitree {

struct ChooseOptions {
  /// Sizes of interest, in bytes of the whole vector, both included.
  std::uint64_t first = 8, last = std::uint64_t{1} << 30;
  /// Times that `auto` chooses by; null: those of the topology, and
  /// kMessageOverhead.
  const LinkTable* links = nullptr;
  /// Whether those that prediction cannot tell from the fastest are named as well
  /// (SizedSpec::rivals), up to 32 ranks.
  bool rivals = false;
};

/// An algorithm with its options, and a prediction.
struct PricedSpec {
  std::string spec;
  double seconds = 0;
  bool operator==(const PricedSpec&) const = default;
};

/// An algorithm with its options, and the largest size that it is for.
struct SizedSpec {
  std::string spec;
  std::uint64_t max_bytes = 0;
  /// Where they were asked for: this one and up to three others that are predicted to take at most
  /// kWithinDoubt times as long, with what they take for a size in the middle; this one comes
  /// first, then the others from the fastest on. Else none.
  std::vector<PricedSpec> rivals = {};
  bool operator==(const SizedSpec&) const = default;
};

/// Predictions that differ by less do not say who is faster.
inline constexpr double kWithinDoubt = 1.3;

/// Specs of all that a job has the time to make when it starts, by its number of ranks.
std::vector<std::string> specs_worth_making(const Topology& topology, Collective collective);

/// What `auto` chooses, ascending by size, the last for all larger sizes. Every schedule among
/// which it chooses is verified. Where rivals are asked for, neighbours may have one spec.
/// Deterministic. \throws Error as tune() and with_times().
std::vector<SizedSpec> choose_specs(const Topology& topology, Collective collective, Rank root,
                                    const ChooseOptions& options = {});

/// The schedules that are named, unverified. \throws Error as generate_schedule()
SizedSchedules schedules_of(const std::vector<SizedSpec>& specs, const Topology& topology,
                            Collective collective, Rank root);

/// `auto` chooses by predicted time, a processor's cost of a message included. Any other name gives
/// its one schedule, which is not verified. Deterministic.
/// \throws Error as generate_schedule() and tune().
SizedSchedules choose_schedules(const std::string& algorithm, const Topology& topology,
                                Collective collective, Rank root,
                                const ChooseOptions& options = {});

}  // namespace multitree
