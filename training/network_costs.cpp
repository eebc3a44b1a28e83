// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two simulations, each of the schedule for its size.
#include "training/network_costs.hpp"

#include <algorithm>

#include "algorithms/registry.hpp"
#include "algorithms/routing.hpp"
#include "algorithms/schedule_store_internal.hpp"

namespace multitree::training {
namespace {

/// What is latency alone, and what latency is nothing of.
constexpr std::uint64_t kSmall = std::uint64_t{4} << 10;
constexpr std::uint64_t kLarge = std::uint64_t{64} << 20;

Affine cost_of(const Topology& topology, std::string_view algorithm, Collective collective,
               nic::Model model) {
  if (topology.num_ranks() == 1) return {};
  return {collective_seconds(topology, algorithm, collective, model, kSmall),
          collective_seconds(topology, algorithm, collective, model, kLarge) / kLarge};
}

/// Every rank serves a part of the parameters of its own: all pairs of ranks talk, each way of them
/// by a shortest route.
Affine push_pull_cost(const Topology& topology) {
  const std::uint32_t ranks = topology.num_ranks();
  if (ranks == 1) return {};
  Router router(topology);
  std::vector<double> seconds(topology.num_links(), 0);  // for a byte of gradients
  double longest = 0;
  std::vector<LinkId> route;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t s = 0; s < ranks; ++s) {
      if (r == s) continue;
      router.find(
          topology.node_of(Rank{r}), topology.node_of(Rank{s}), [](LinkId) { return true; }, route);
      double latency = 0;
      for (const LinkId link : route) {
        const Link& l = topology.link(link);
        // A part of the gradients, and the sums of the part that the other end serves.
        seconds[index(link)] += 2.0 / ranks / static_cast<double>(l.bandwidth.bytes_per_second);
        latency += l.latency.seconds();
      }
      longest = std::max(longest, latency);
    }
  }
  return {2 * longest, std::ranges::max(seconds)};
}

}  // namespace

nic::Parameters interface_for(const Topology& topology) {
  return {.buffer_flits = nic::round_trip_flits(topology, {})};
}

double collective_seconds(const Topology& topology, std::string_view algorithm,
                          Collective collective, nic::Model model, std::uint64_t bytes) {
  if (topology.num_ranks() == 1 || bytes == 0) return 0;
  const Schedule schedule = make_schedule(told(algorithm, bytes, Time{}), topology, collective);
  return nic::simulate(schedule, topology, bytes, interface_for(topology), {.model = model})
      .seconds();
}

Costs network_costs(const Topology& topology, std::string_view algorithm, nic::Model model,
                    double call, bool halves) {
  ScheduleStore store(topology);
  const ScheduleStore::Use sharing(store);
  return {cost_of(topology, algorithm, Collective::AllReduce, model),
          halves ? cost_of(topology, algorithm, Collective::ReduceScatter, model) : Affine{},
          halves ? cost_of(topology, algorithm, Collective::AllGather, model) : Affine{},
          push_pull_cost(topology),
          call,
          topology.has_switches()};
}

}  // namespace multitree::training
