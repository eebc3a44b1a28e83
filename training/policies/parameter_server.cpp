// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameter servers, as BytePS has them: gradients are pushed, sums are pulled, in partitions.
///
/// A partition is a transfer, from the push of the first rank to the pull of the last. The next
/// one's push goes on beside this one's pull, so one after the other takes what the busier
/// direction takes: Costs::push_pull.
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

/// The costs of push and pull where policies ask for those of an all-reduce.
Costs through_servers(const Costs& costs) {
  Costs servers = costs;
  servers.all_reduce = costs.push_pull;
  return servers;
}

/// A plan has schedules, and servers none.
Iteration unplannable(Iteration iteration) {
  iteration.plannable = false;
  return iteration;
}

}  // namespace

Iteration run_bsp_ps(const Model& model, const Costs& costs, const Spec& options) {
  return unplannable(run_bsp(model, through_servers(costs), options));
}

Iteration run_wfbp_ps(const Model& model, const Costs& costs, const Spec& options) {
  return unplannable(run_wfbp(model, through_servers(costs), options));
}

Iteration run_bytescheduler_ps(const Model& model, const Costs& costs, const Spec& options) {
  return unplannable(run_bytescheduler(model, through_servers(costs), options));
}

}  // namespace multitree::training
