// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans from what policies do.
#include "training/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/spec.hpp"
#include "training/policies.hpp"

namespace multitree::training {
namespace {

PlannedTransfer planned(const Transfer& transfer, Order order) {
  return {.collective = transfer.collective,
          .first = transfer.first,
          .last = transfer.last,
          .bytes = transfer.bytes,
          .priority = order == Order::Serial ? 0 : transfer.first,
          .hold = transfer.hold,
          .begin = transfer.begin,
          .end = transfer.end};
}

/// What a preemptive policy sends of a layer one by one, as one transfer of at most `most` bytes.
void join_parts(std::vector<PlannedTransfer>& transfers, std::uint64_t most) {
  std::vector<PlannedTransfer> joined;
  for (const PlannedTransfer& part : transfers) {
    const auto last = std::find_if(joined.rbegin(), joined.rend(), [&](const auto& other) {
      return other.first == part.first && other.last == part.last;
    });
    if (last == joined.rend() || last->bytes > most || part.bytes > most - last->bytes) {
      joined.push_back(part);
    } else {
      last->bytes += part.bytes;
      last->end = part.end;
    }
  }
  transfers = std::move(joined);
}

/// A layer leaves the packing of all gradients where its pieces take so many times as long as those
/// of a schedule for its own size. That has fewer trees, which load links unevenly: so it must not
/// carry what is large, and need not carry what takes little longer.
constexpr double kTooFine = 2;
/// Where finer pieces than usual are asked for: they are for what is large.
constexpr double kTooFineOfFiner = 1.25;

double too_fine(const std::string& algorithm) {
  return Spec::parse(algorithm).has("fill") ? kTooFineOfFiner : kTooFine;
}

/// Schedules are made for few sizes: 4 KiB, 16 KiB, 64 KiB and so on, the next that holds `bytes`.
std::uint64_t few_sizes(std::uint64_t bytes) {
  std::uint64_t size = std::uint64_t{4} << 10;
  while (size < bytes) size *= 4;
  return size;
}

}  // namespace

PlanSchedules::PlanSchedules(const Plan& plan, const Topology& topology, Time message)
    : plan_(plan), topology_(topology), message_(message) {}

const Schedule& PlanSchedules::of(Collective collective, std::uint64_t bytes) {
  if (plan_.order != Order::Preemptive) return made_for(collective, bytes);
  const auto [at, is_new] = chosen_.try_emplace({collective, bytes}, nullptr);
  if (is_new) at->second = &faster_for(collective, bytes);
  return *at->second;
}

/// Of the two schedules that a transfer of a preemptive plan may have.
const Schedule& PlanSchedules::faster_for(Collective collective, std::uint64_t bytes) {
  const Schedule& all = whole(collective);
  const std::uint64_t size = few_sizes(bytes);
  if (size >= plan_.model.bytes()) return all;
  const Schedule& own = made_for(collective, size);
  const CostModel cost{.message_overhead = message_};
  return predict_time(own, topology_, bytes, cost).seconds() * too_fine(plan_.algorithm) <
                 predict_time(all, topology_, bytes, cost).seconds()
             ? own
             : all;
}

const Schedule& PlanSchedules::whole(Collective collective) {
  return made_for(collective, plan_.model.bytes());
}

const Schedule& PlanSchedules::made_for(Collective collective, std::uint64_t bytes) {
  const std::string spec = told(plan_.algorithm, bytes, message_);
  const auto [at, is_new] = made_.try_emplace({collective, spec});
  if (is_new) at->second = make_schedule(spec, topology_, collective);
  return at->second;
}

std::vector<SizedSchedules> PlanSchedules::all() {
  std::map<Collective, std::set<std::uint64_t>> sizes;
  for (const PlannedTransfer& transfer : plan_.transfers) {
    sizes[transfer.collective].insert(transfer.bytes);
  }
  std::vector<SizedSchedules> lists;
  for (const auto& [collective, of_it] : sizes) {
    SizedSchedules& list = lists.emplace_back();
    for (const std::uint64_t bytes : of_it) {
      const Schedule& schedule = of(collective, bytes);
      if (!list.empty() && list.back().schedule.algorithm == schedule.algorithm) list.pop_back();
      list.push_back({schedule, bytes});
    }
    list.back().max_bytes = std::numeric_limits<std::uint64_t>::max();
  }
  return lists;
}

std::vector<SizedSchedules> PlanSchedules::wholes() {
  std::set<Collective> collectives;
  for (const PlannedTransfer& transfer : plan_.transfers) collectives.insert(transfer.collective);
  std::vector<SizedSchedules> lists;
  for (const Collective collective : collectives) {
    lists.push_back({{whole(collective), std::numeric_limits<std::uint64_t>::max()}});
  }
  return lists;
}

Plan make_plan(std::string_view policy, const Model& model, const Costs& costs,
               std::string_view algorithm) {
  const Iteration iteration = simulate(policy, model, costs);
  if (!iteration.plannable) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: plans hold policies that sum up each iteration's gradients by "
                            "collectives, beside the backward pass and the next forward pass",
                            policy));
  }
  Plan plan{.policy = std::string(policy),
            .algorithm = std::string(algorithm),
            .model = model,
            .transfers = {},
            .order = iteration.order,
            .together = iteration.together,
            .call = costs.call,
            .seconds = iteration.seconds};
  for (const Transfer& transfer : iteration.transfers) {
    plan.transfers.push_back(planned(transfer, iteration.order));
  }
  if (iteration.order == Order::Preemptive) join_parts(plan.transfers, iteration.part);
  return plan;
}

}  // namespace multitree::training
