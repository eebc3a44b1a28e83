// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The library in two dozen lines: make a network and a schedule, prove both, see what network
/// interfaces make of it, run it on four threads.
#include <cstdio>
#include <thread>
#include <vector>

#include <multitree/certificate.hpp>
#include <multitree/communicator.hpp>
#include <multitree/generators.hpp>
#include <multitree/networks.hpp>
#include <multitree/simulate.hpp>
#include <multitree/tables.hpp>
#include <multitree/verify.hpp>

namespace {

using namespace multitree;

/// Whether the schedule is as fast as a proof allows, and interfaces with its tables take no less.
bool looks_right(const Schedule& schedule, const Topology& topology) {
  constexpr std::uint64_t kBytes = 1 << 20;
  const Proof proof = prove_bound(topology, schedule.collective);
  const ProofReport report = check_proof(proof.certificate, schedule, topology, kBytes);
  const nic::Simulation simulated =
      nic::simulate(schedule, topology, kBytes, {}, {.model = nic::Model::Message});
  const nic::Tables tables =
      nic::compile_tables(schedule, topology, {.elements = kBytes / sizeof(float)});
  return report.ok() && report.ratio >= 1 && tables.ranks == topology.num_ranks() &&
         simulated.errors.empty() && simulated.seconds() >= report.bound_seconds;
}

}  // namespace

int main() {
  const Topology topology = make_topology("torus:2x2");
  const Schedule schedule = make_schedule("multitree", topology, Collective::AllReduce);
  if (!verify(schedule, topology).ok() || !looks_right(schedule, topology)) return 1;

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
