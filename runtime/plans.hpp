// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedules that a communicator runs, and how others are made.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/tuning/link_table.hpp"
#include "algorithms/tuning/plan.hpp"
#include "runtime/refining.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime {

/// How schedules are made for a network that has lost links; the same at every rank.
struct Remaking {
  Topology network;                               ///< that there are schedules for
  bool chosen = false;                            ///< by prediction: then so are the others
  std::optional<LinkTable> times = std::nullopt;  ///< of the links; none: those of the network
};

/// Schedules by size, at most one list a collective.
struct PlansBySize {
  explicit PlansBySize(std::vector<SizedSchedules> lists, bool chosen = false)
      : plans(std::move(lists)), replaceable(chosen) {}
  std::vector<SizedSchedules> plans;
  /// Chosen by prediction (tune(), `auto`), not asked for: on one host HostPath::Auto goes without.
  bool replaceable = false;
  /// Makes those of a collective, with a root or Rank{0}, that no list is for, when it is first
  /// called; the same at every rank, not collective. All share the connections. May be null.
  std::function<SizedSchedules(Collective collective, Rank root)> on_demand = nullptr;
  /// What others are made of once links have fallen silent (OnLinkFailure::Adapt); null: they stay.
  std::shared_ptr<const Remaking> remaking = nullptr;
  /// Where messages are sent, Communicator::run() tries what this names, for at most a twentieth of
  /// the time, and goes on with the fastest: sums of floats change with the schedule. May be null;
  /// the same at every rank, all of which then make the same calls by run().
  std::shared_ptr<const Refining> refining = nullptr;
};

}  // namespace multitree::runtime
