// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which schedules a network runs, also once ranks or links of it are lost.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "algorithms/tuning/choose.hpp"
#include "algorithms/tuning/plan.hpp"
#include "topologies/remaining_network.hpp"

namespace multitree {

/// \throws Error(InvalidInput) naming the first of the schedules that does not verify on
/// `topology`.
void check_verified(const SizedSchedules& schedules, const Topology& topology);

/// Answers, for a collective and its root, with schedules by size: those that are ready, else those
/// that somebody makes of the network; where ranks or links are lost, for what is left of it.
class Planner {
 public:
  /// Verified schedules of a collective on a network. \throws Error
  using Make = std::function<SizedSchedules(const Topology& network, Collective, Rank root)>;

  /// `network` must outlive the planner. `ready`: verified schedules of network.whole() for one
  /// collective, as those of a file; `make` serves all else, and may be null where nobody asks.
  Planner(const RemainingNetwork& network, SizedSchedules ready, Make make)
      : network_(network), ready_(std::move(ready)), make_(std::move(make)) {}

  /// All verified; `root`: in the numbers of what is left. None for a single rank that is
  /// left. What is lost is taken out of schedules that are ready; others are made of what is left,
  /// and by repairing those of the whole network where their algorithm does not serve that.
  /// \throws Error as Make and replan()
  [[nodiscard]] SizedSchedules schedules(Collective collective, Rank root) const;
  /// One list for each of the collectives.
  [[nodiscard]] std::vector<SizedSchedules> schedules(std::span<const Collective> collectives,
                                                      Rank root) const;

 private:
  [[nodiscard]] SizedSchedules repaired(const SizedSchedules& schedules) const;
  [[nodiscard]] bool is_ready(Collective collective, Rank root) const;

  const RemainingNetwork& network_;
  SizedSchedules ready_;
  Make make_;
};

/// Verified schedules of network.whole(), for what is left of it: each made anew by its algorithm
/// or repaired, as is predicted to be faster. \throws Error as replan()
SizedSchedules adapted(const SizedSchedules& schedules, const RemainingNetwork& network);

/// Makes what an algorithm's name stands for: choose_schedules(), verified.
Planner::Make by_algorithm(std::string algorithm, ChooseOptions options = {});

}  // namespace multitree
