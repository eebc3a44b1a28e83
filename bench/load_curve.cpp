// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Accepted traffic and latency of packets against the traffic that is offered, on an 8x8 torus:
/// bench_load_curve PATTERN CLASSES PACKET_FLITS LATENCY ROUTER_CYCLES RATE..., with everyone,
/// others or tornado; classes of channels that change at the dateline, or one for each dimension of
/// a packet (dimensions); cycles of a link (and of a credit on it) and of a router; flits a node
/// and cycle. Prints a line of CSV for each rate. bench/booksim compares it with BookSim 2.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "bench/torus_traffic.hpp"

namespace multitree {
namespace {

std::uint32_t number(const char* text) {
  return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

bench::Pattern pattern_of(const std::string& name) {
  return name == "everyone"  ? bench::Pattern::Everyone
         : name == "tornado" ? bench::Pattern::Tornado
                             : bench::Pattern::Others;
}

int main(int argc, char** argv) {
  if (argc < 7) {
    fmt::print(stderr,
               "usage: bench_load_curve PATTERN CLASSES PACKET_FLITS LATENCY ROUTER_CYCLES "
               "RATE...\n");
    return 2;
  }
  const Topology topology = make_topology(fmt::format("torus:8x8?lat={}ns", number(argv[4])));
  const nic::Parameters parameters{.virtual_channels = 4,
                                   .buffer_flits = 8,
                                   .router_cycles = number(argv[5]),
                                   .shared_inputs = true,
                                   .interface_cycles = 2,
                                   .ports = 1};
  fmt::print("offered,accepted,latency,missing,router_cycles,cpu_seconds\n");
  for (int i = 6; i < argc; ++i) {
    const bench::Load load{.flits = std::strtod(argv[i], nullptr),
                           .packet_flits = number(argv[3]),
                           .warm_up = 10'000,
                           .cycles = 20'000,
                           .drain = 100'000,
                           .pattern = pattern_of(argv[1])};
    const bool by_dimension = std::string(argv[2]) == "dimensions";
    bench::Traffic traffic = by_dimension ? bench::Traffic(topology, parameters, load,
                                                           bench::classes_of_dimensions(topology))
                                          : bench::Traffic(topology, parameters, load);
    const bench::Outcome outcome = traffic.run();
    fmt::print("{},{:.5f},{:.3f},{},{},{:.4f}\n", load.flits,
               static_cast<double>(outcome.delivered) / load.cycles / topology.num_ranks(),
               outcome.latency, outcome.missing, outcome.simulated * topology.num_nodes(),
               outcome.cpu_seconds);
  }
  return 0;
}

}  // namespace
}  // namespace multitree

int main(int argc, char** argv) { return multitree::main(argc, argv); }
