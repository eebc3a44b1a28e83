// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Iterations as plans: what is sent in which order, and when that is expected to happen.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "nic/simulate.hpp"
#include "topologies/topology.hpp"
#include "training/costs.hpp"
#include "training/iteration.hpp"
#include "training/model.hpp"

namespace multitree::training {

/// A collective of a plan. All ranks have the same ones, in the same order.
struct PlannedTransfer {
  Collective collective = Collective::AllReduce;
  std::uint32_t first = 0, last = 0;  ///< layers whose gradients it carries, in forward order
  std::uint64_t bytes = 0;
  std::uint32_t priority = 0;  ///< where several have something to send, least first
  double hold = 0;             ///< not before; seconds from the start of the backward pass
  double begin = 0, end = 0;   ///< expected
  bool operator==(const PlannedTransfer&) const = default;
};

/// An iteration of a model, from the start of a backward pass to the start of the next.
struct Plan {
  std::string policy, algorithm;
  Model model;
  std::vector<PlannedTransfer> transfers;
  Order order = Order::Serial;
  bool together = false;  ///< the next forward pass begins when all transfers are over
  double call = 0;        ///< seconds to start a collective
  double seconds = 0;     ///< of the iteration, expected
  bool operator==(const Plan&) const = default;
};

/// What a policy does, at these costs. Parts of a layer that a preemptive policy sends one by one
/// are one transfer, or few if they are many bytes, which others overtake.
/// \throws Error as simulate() of policies; Error(Unsupported) if a plan cannot say what it does.
Plan make_plan(std::string_view policy, const Model& model, const Costs& costs,
               std::string_view algorithm);

/// The schedules that the transfers of a plan run on, each made when it is first asked for: those
/// that its algorithm makes for their sizes. A preemptive plan sends all on the one for the whole
/// model, whose trees have every transfer's share of every link, but for small transfers that its
/// many pieces would hold up. \throws Error as make_schedule()
class PlanSchedules {
 public:
  /// Both outlive this. \param message what a message costs a processor; where there is none, 0
  PlanSchedules(const Plan& plan, const Topology& topology, Time message);
  /// Stays where it is. \param bytes of the transfer
  const Schedule& of(Collective collective, std::uint64_t bytes);
  /// For all gradients of the model together.
  const Schedule& whole(Collective collective);
  /// Of every collective of the plan, by size.
  std::vector<SizedSchedules> all();
  /// Of every collective of the plan, that for all gradients, for transfers of any size.
  std::vector<SizedSchedules> wholes();

 private:
  const Schedule& made_for(Collective collective, std::uint64_t bytes);
  const Schedule& faster_for(Collective collective, std::uint64_t bytes);

  const Plan& plan_;
  const Topology& topology_;
  Time message_;
  std::map<std::pair<Collective, std::string>, Schedule> made_;
  std::map<std::pair<Collective, std::uint64_t>, const Schedule*> chosen_;  ///< by bytes
};

/// JSON: the network, the model, the transfers and the expected times.
std::string write_json(const Plan& plan, const Topology& topology);
struct PlanFile {
  Plan plan;
  Topology topology;
};
/// \throws Error(InvalidInput) "file: ..." also for layers, orders and times that make no sense.
PlanFile parse_iteration_plan(std::string_view text, const std::string& file);

/// When something took place: from when the first rank began to when the last had ended.
struct JobTime {
  double begin = 0, end = 0;  ///< seconds from the start of the backward pass
};

/// A plan as the network carries it out.
struct SimulatedPlan {
  double seconds = 0;                      ///< of the iteration
  std::vector<JobTime> transfers;          ///< when each took place
  std::vector<JobTime> backward, forward;  ///< by layer
};

/// Simulates all transfers of an iteration together, and the passes beside them, on schedules that
/// the plan's algorithm makes for each size.
/// \param slowness by rank: computing takes there so many times as long; empty: 1 for all.
/// \throws Error as make_schedule() and nic::simulate() of jobs.
SimulatedPlan simulate_plan(const Plan& plan, const Topology& topology, nic::Model model,
                            const std::vector<double>& slowness = {});

/// The same on schedules that are the plan's, for a network without a cost of messages.
SimulatedPlan simulate_plan(const Plan& plan, PlanSchedules& schedules, const Topology& topology,
                            nic::Model model, const std::vector<double>& slowness = {});

/// A plan, and what it takes.
struct RefinedPlan {
  Plan plan;
  SimulatedPlan times;
};

/// The plan as a simulation of the whole iteration takes least with, where it leaves something open
/// and is one of `allreduce-optimal` that says nothing of pieces:
/// - A preemptive plan has its schedules in finer pieces: these are overtaken sooner and fill
///   pipelines sooner, and each has a header.
/// - A plan of `priority` that says no order may be an overlapping one, with all transfers in
///   pieces of one size, where a network has boxes or a model is small, of which on networks
///   without switches also over short trees. If that takes at most 1.01 times the bound, and the
///   plan is expected to take 1.02 times as long, only that is simulated.
/// Up to eighteen plans are simulated, until one takes less than 1.0005 times the bound; other
/// plans are simulated once, as they are. \param costs that the plan was made with \param bound
/// what no iteration takes less than, in seconds; 0: unknown. \throws Error as simulate_plan()
RefinedPlan refine_plan(const Plan& plan, const Costs& costs, const Topology& topology,
                        nic::Model model, double bound);

}  // namespace multitree::training
