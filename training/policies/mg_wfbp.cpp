// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Merged-gradient wait-free backpropagation.
#include <algorithm>
#include <optional>

#include "training/channel_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {

/// From the last layer to the first, a group takes the next gradient in where that is ready before
/// the group would start, where waiting for it costs less than another start, and where the group
/// is small.
Iteration run_mg_wfbp(const Model& model, const Costs& costs, const Spec& options) {
  const std::uint64_t small = bytes_option(options, "small", "32KiB");
  const double times = options.get_number("costs", 1, 1, 1000);
  Channel channel(costs);
  double expected_free = 0;  // as merging sees it
  const double start = times * channel.duration(Collective::AllReduce, 0);
  std::optional<Gradient> group;
  for (const Gradient& gradient : tensors_of(model)) {
    if (!group) {
      group = gradient;
      continue;
    }
    const double begin = std::max(expected_free, group->ready);
    const double end = begin + times * channel.duration(Collective::AllReduce, group->bytes);
    const bool waits_less = gradient.ready < end && gradient.ready - begin < start;
    if (waits_less || group->bytes < small) {
      group = joined(*group, gradient);
    } else {
      channel.run(transfer_of(*group));
      expected_free = end;
      group = gradient;
    }
  }
  if (group) channel.run(transfer_of(*group));
  return finish_together(model, channel);
}

}  // namespace multitree::training
