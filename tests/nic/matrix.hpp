// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks and schedules that the tests of the simulators run over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace multitree::test {

inline constexpr const char* kNetworks[] = {
    "torus:4x4",   "torus:3x5",   "torus:2x2x2", "mesh:3x5", "mesh:4x4", "ring:8",         "ring:2",
    "hypercube:4", "fattree:4x4", "bigraph:4x4", "star:5",   "dgx2",     "dragonfly:2x1x2"};

/// Schedules by all algorithms that can serve the network, but for `auto`, which is one of them.
inline std::vector<Schedule> all_schedules(const Topology& topology,
                                           Collective collective = Collective::AllReduce) {
  std::vector<Schedule> schedules;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.unsupported(topology) || algorithm.name == "auto") continue;
    schedules.push_back(make_schedule(algorithm.name, topology, collective));
  }
  return schedules;
}

}  // namespace multitree::test
