// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From the name of an algorithm to what is run.
#include "algorithms/tuning/choose.hpp"

#include <limits>
#include <optional>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/tune.hpp"

namespace multitree {
namespace {

/// Above, generating and pricing every candidate takes seconds, which starting a job must not.
constexpr std::uint32_t kRanksForAll = 16;

TuneResult choose(const Topology& topology, Collective collective, Rank root,
                  const ChooseOptions& options) {
  TuneOptions wanted;
  wanted.first = options.first;
  wanted.last = options.last;
  wanted.cost.message_overhead = kMessageOverhead;
  if (options.quick && topology.num_ranks() > kRanksForAll) {
    wanted.algorithms = {"exchange",
                         "halving-doubling",
                         "multitree",
                         "recursive-doubling",
                         "ring",
                         "swing",
                         "swing?variant=latency",
                         "bine",
                         "bine?variant=latency",
                         "double-binary-tree",
                         "breadth-first"};
  }
  std::optional<Topology> priced;
  if (options.links != nullptr) {
    priced = with_times(topology, *options.links);
    wanted.priced = &*priced;
    wanted.cost = cost_model(topology, *options.links);
  }
  return tune(topology, collective, root, wanted);
}

}  // namespace

std::vector<SizedSpec> choose_specs(const Topology& topology, Collective collective, Rank root,
                                    const ChooseOptions& options) {
  const TuneResult result = choose(topology, collective, root, options);
  std::vector<SizedSpec> specs;
  for (const TunedRange& range : result.ranges) {
    specs.push_back({result.candidates[range.candidate].spec, range.to});
  }
  specs.back().max_bytes = std::numeric_limits<std::uint64_t>::max();
  return specs;
}

SizedSchedules choose_schedules(const std::string& algorithm, const Topology& topology,
                                Collective collective, Rank root, const ChooseOptions& options) {
  if (algorithm != "auto") {
    return for_all_sizes(generate_schedule(told(algorithm, kDefaultSize, kMessageOverhead),
                                           topology, collective, root));
  }
  return choose(topology, collective, root, options).plan();
}

}  // namespace multitree
