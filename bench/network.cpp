// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many router-cycles a second the flit-level network simulates under uniform random traffic:
/// bench_network [SPEC [FLITS/NODE/CYCLE [PACKET FLITS [CYCLES]]]], 4 virtual channels of 8 flits.
/// Prints the median of five runs. bench/booksim compares with another simulator.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "bench/torus_traffic.hpp"

namespace multitree {
namespace {

nic::Parameters parameters() { return {.virtual_channels = 4, .buffer_flits = 8, .ports = 1}; }

int main(int argc, char** argv) {
  const Topology topology = make_topology(argc > 1 ? argv[1] : "torus:8x8?lat=1ns");
  bench::Load load;
  if (argc > 2) load.flits = std::strtod(argv[2], nullptr);
  if (argc > 3) load.packet_flits = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  if (argc > 4) load.cycles = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  std::vector<double> seconds;
  bench::Outcome outcome;
  for (int i = 0; i < 5; ++i) {
    outcome = bench::Traffic(topology, parameters(), load).run();
    seconds.push_back(outcome.wall_seconds);
  }
  std::ranges::sort(seconds);
  const double cycles = load.cycles, routers = topology.num_nodes();
  const double rate = cycles * routers / seconds[2];
  fmt::print(
      "{}: offered {} flits/node/cycle in packets of {}, {} cycles, {} classes of channels\n",
      topology.name(), load.flits, load.packet_flits, load.cycles, outcome.classes);
  // A router that has anything to do moves at least one flit, unless it is blocked.
  fmt::print(
      "accepted {:.4f} flits/node/cycle, mean latency {:.1f} cycles, {:.2f} flits moved a "
      "router and cycle\n",
      static_cast<double>(outcome.delivered) / cycles / topology.num_ranks(), outcome.latency,
      static_cast<double>(outcome.moves) / cycles / routers);
  fmt::print("{:.2f} M router-cycles/s, {:.2f} M flit-hops/s\n", rate / 1e6,
             static_cast<double>(outcome.moves) / seconds[2] / 1e6);
  return 0;
}

}  // namespace
}  // namespace multitree

int main(int argc, char** argv) { return multitree::main(argc, argv); }
