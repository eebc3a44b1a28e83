// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two simulations, each of the schedule for its size.
#include "training/network_costs.hpp"

#include <algorithm>

#include "algorithms/registry.hpp"

namespace multitree::training {
namespace {

/// What is latency alone, and what latency is nothing of.
constexpr std::uint64_t kSmall = std::uint64_t{4} << 10;
constexpr std::uint64_t kLarge = std::uint64_t{64} << 20;

double seconds_of(const Topology& topology, std::string_view algorithm, Collective collective,
                  nic::Model model, std::uint64_t bytes) {
  const Schedule schedule = make_schedule(told(algorithm, bytes, Time{}), topology, collective);
  return nic::simulate(schedule, topology, bytes, interface_for(topology), {.model = model})
      .seconds();
}

Affine cost_of(const Topology& topology, std::string_view algorithm, Collective collective,
               nic::Model model) {
  if (topology.num_ranks() == 1) return {};
  return {seconds_of(topology, algorithm, collective, model, kSmall),
          seconds_of(topology, algorithm, collective, model, kLarge) / kLarge};
}

}  // namespace

nic::Parameters interface_for(const Topology& topology) {
  return {.buffer_flits = nic::round_trip_flits(topology, {})};
}

Costs network_costs(const Topology& topology, std::string_view algorithm, nic::Model model,
                    double call) {
  return {cost_of(topology, algorithm, Collective::AllReduce, model),
          cost_of(topology, algorithm, Collective::ReduceScatter, model),
          cost_of(topology, algorithm, Collective::AllGather, model), call};
}

}  // namespace multitree::training
