// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The library in a dozen lines: make a network and a schedule, prove it, run it on four threads.
#include <cstdio>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "runtime/communicator.hpp"
#include "topologies/registry.hpp"

int main() {
  using namespace multitree;
  const Topology topology = make_topology("torus:2x2");
  const Schedule schedule = make_schedule("multitree", topology, Collective::AllReduce);
  if (!verify(schedule, topology).ok()) return 1;

  auto bootstraps = runtime::make_in_process_bootstraps(topology.num_ranks());
  std::vector<float> sums(bootstraps.size());
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < bootstraps.size(); ++r) {
    ranks.emplace_back([&, r] {
      runtime::Communicator communicator(bootstraps[r], {schedule}, {.transport = "loopback"});
      const float mine = static_cast<float>(r + 1);
      communicator.all_reduce(&mine, &sums[r], 1, runtime::DataType::Float32,
                              runtime::ReduceOp::Sum);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const float sum : sums) {
    if (sum != 1 + 2 + 3 + 4) return 1;
  }
  std::puts("four ranks agree: 10");
  return 0;
}
