// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The fastest algorithm for one size, by predicted time.
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/tuning/tune.hpp"

namespace multitree {
namespace {

Schedule best(const Topology& topology, Collective collective, Rank root, const Spec& options) {
  const std::uint64_t bytes = size_option(options);
  TuneOptions wanted;
  wanted.cost.message_overhead = message_option(options);
  wanted.first = wanted.last = bytes;
  TuneResult result = tune(topology, collective, root, wanted);
  return std::move(result.candidates[result.ranges.front().candidate].schedule);
}

}  // namespace

Algorithm auto_algorithm() {
  return {.name = "auto",
          .summary = "the fastest of the others for one size, by predicted time",
          .source = "multitree tune",
          .parameters =
              "size=BYTES: the size it is chosen for (default: 64MiB); message=TIME: "
              "what a message costs its sender (default: 0ns)",
          .unsupported = supports_all,
          .all_gather =
              [](const Topology& topology, const Spec& options) {
                return best(topology, Collective::AllGather, Rank{0}, options);
              },
          .broadcast =
              [](const Topology& topology, Rank root, const Spec& options) {
                return best(topology, Collective::Broadcast, root, options);
              },
          .all_reduce =
              [](const Topology& topology, const Spec& options) {
                return best(topology, Collective::AllReduce, Rank{0}, options);
              },
          .asks_size = true};
}

}  // namespace multitree
