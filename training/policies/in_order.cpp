// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All gradients at once, in the order of the backward pass, and in buckets: what has no plan.
#include <limits>

#include "training/channel_internal.hpp"
#include "training/cut_search_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

/// One after the other, each when it is ready.
Iteration in_order(const Model& model, const Costs& costs, const std::vector<Gradient>& gradients) {
  Channel channel(costs);
  for (const Gradient& gradient : gradients) channel.run(transfer_of(gradient));
  return finish_together(model, channel);
}

}  // namespace

Iteration run_bsp(const Model& model, const Costs& costs, const Spec&) {
  std::vector<Gradient> all = fuse(layers_of(model), std::numeric_limits<std::uint64_t>::max());
  for (Gradient& gradient : all) gradient.ready = model.backward();
  return in_order(model, costs, all);
}

Iteration run_wfbp(const Model& model, const Costs& costs, const Spec&) {
  return in_order(model, costs, tensors_of(model));
}

Iteration run_ddp(const Model& model, const Costs& costs, const Spec& options) {
  if (options.get("bucket", "25MiB") == "search") {
    return in_order(model, costs,
                    search_cuts(tensors_of(model), [&](const std::vector<Gradient>& groups) {
                      return in_order(model, costs, groups).seconds;
                    }));
  }
  const std::uint64_t bucket = bytes_option(options, "bucket", "25MiB");
  return in_order(model, costs,
                  fuse(tensors_of(model), bucket, bytes_option(options, "first", "1MiB")));
}

}  // namespace multitree::training
