// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Horovod: a thread that wakes up at ticks and fuses what it finds.
#include <algorithm>
#include <cmath>

#include "topologies/error.hpp"
#include "topologies/units.hpp"
#include "training/channel_internal.hpp"
#include "training/gradients_internal.hpp"
#include "training/policies_internal.hpp"

namespace multitree::training {
namespace {

double cycle_of(const Spec& options) {
  const std::string text = options.get("cycle", "1ms");
  try {
    if (const double cycle = parse_time(text).seconds(); cycle > 0) return cycle;
  } catch (const Error&) {  // told below, with the option
  }
  options.fail("cycle: expected a time with its unit, above 0, got '" + text + "'");
}

}  // namespace

Iteration run_horovod(const Model& model, const Costs& costs, const Spec& options) {
  const std::uint64_t threshold = bytes_option(options, "threshold", "64MiB");
  const double cycle = cycle_of(options);
  const std::vector<Gradient> tensors = tensors_of(model);
  Channel channel(costs);
  for (std::size_t next = 0; next < tensors.size();) {
    const double free = std::max(channel.free_at(), tensors[next].ready);
    const double tick = std::ceil(free / cycle) * cycle;
    Gradient group = tensors[next++];
    while (next < tensors.size() && tensors[next].ready <= tick &&
           group.bytes + tensors[next].bytes <= threshold) {
      group = joined(group, tensors[next++]);
    }
    group.ready = tick;
    Transfer transfer = transfer_of(group);
    transfer.hold = tick;
    channel.run(transfer);
  }
  return finish_together(model, channel);
}

}  // namespace multitree::training
