// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plans from what policies do.
#include "training/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/error.hpp"
#include "training/policies.hpp"

namespace multitree::training {
namespace {

PlannedTransfer planned(const Transfer& transfer, Order order) {
  return {.collective = transfer.collective,
          .first = transfer.first,
          .last = transfer.last,
          .bytes = transfer.bytes,
          .priority = order == Order::Preemptive ? transfer.first : 0,
          .hold = transfer.hold,
          .begin = transfer.begin,
          .end = transfer.end};
}

/// What a preemptive policy sends of a layer in several parts, as one.
void join_parts(std::vector<PlannedTransfer>& transfers) {
  std::vector<PlannedTransfer> joined;
  for (const PlannedTransfer& part : transfers) {
    const auto same = std::ranges::find_if(joined, [&](const PlannedTransfer& other) {
      return other.first == part.first && other.last == part.last;
    });
    if (same == joined.end()) {
      joined.push_back(part);
    } else {
      same->bytes += part.bytes;
      same->end = part.end;
    }
  }
  transfers = std::move(joined);
}

}  // namespace

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
  if (iteration.order == Order::Preemptive) join_parts(plan.transfers);
  return plan;
}

}  // namespace multitree::training
