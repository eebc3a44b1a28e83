// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast simulations of an all-reduce are: bench_simulation [SPEC [ALGORITHM [SIZE]]]. Prints
/// medians of five runs: messages a second of the recurrence and of the event-driven model, router
/// cycles a second of the flit-level model (left out above 64 ranks), each with its ratio to the
/// fastest figure known of others for the same work.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/machine/machine.hpp"
#include "nic/message/events.hpp"
#include "nic/message/max_plus.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"

namespace multitree {
namespace {

// ASTRA-sim's analytical network with coinciding event times, 1024 ranks (7.5 M sends/s), and
// BookSim 2 on an 8x8 torus in 17-flit packets, with its default router of four stages (0.875 M
// router-cycles/s; bench/booksim compares equal routers), each on one core.
constexpr double kMessagePeer = 7.5e6, kRouterPeer = 0.875e6;

double median_seconds(const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(seconds);
  return seconds[2];
}

void run(const std::string& spec, const std::string& algorithm, const std::string& size) {
  const Topology topology = make_topology(spec);
  const Schedule schedule = generate_schedule(algorithm, topology, Collective::AllReduce, Rank{0});
  const nic::Parameters parameters;
  const std::uint64_t elements = nic::padded_elements(parse_bytes(size), 4, schedule.ranks);
  nic::Program program;
  const double compiling =
      median_seconds([&] { program = nic::compile_program(schedule, topology, elements); });
  fmt::print("{}, {}, {}: {} messages, compiled in {:.3f} s\n", spec, algorithm, size,
             schedule.transfers.size(), compiling);
  const auto messages = static_cast<double>(schedule.transfers.size());
  if (!topology.has_switches()) {
    const nic::MaxPlus recurrence(program.tables, topology, {});
    std::uint64_t cycles = 0;
    const double seconds = median_seconds([&] { cycles = recurrence.evaluate().cycles; });
    fmt::print("recurrence  {:>12} cycles  {:>8.4f} s  {:>8.1f} M messages/s\n", cycles, seconds,
               messages / seconds * 1e-6);
  }
  nic::Simulation result;
  double seconds = median_seconds([&] {
    result = nic::run_message_level(program, topology, parameters, {.model = nic::Model::Message});
  });
  fmt::print("message     {:>12} cycles  {:>8.4f} s  {:>8.1f} M messages/s ({:.1f} x the peer)\n",
             result.cycles, seconds, messages / seconds * 1e-6, messages / seconds / kMessagePeer);
  if (topology.num_ranks() > 64) return;
  seconds = median_seconds(
      [&] { result = nic::run_flit_level(program, topology, parameters, {}, nullptr); });
  const double rate = static_cast<double>(result.cycles) * topology.num_nodes() / seconds;
  fmt::print(
      "flit        {:>12} cycles  {:>8.4f} s  {:>8.2f} M router-cycles/s ({:.1f} x the "
      "peer), {:.1f} M link flits/s\n",
      result.cycles, seconds, rate * 1e-6, rate / kRouterPeer,
      static_cast<double>(result.link_flits) / seconds * 1e-6);
}

}  // namespace
}  // namespace multitree

int main(int argc, char** argv) {
  const std::string algorithm = argc > 2 ? argv[2] : "multitree";
  if (argc > 1) {
    multitree::run(argv[1], algorithm, argc > 3 ? argv[3] : "1MiB");
    return 0;
  }
  multitree::run("torus:8x8", algorithm, "1MiB");
  multitree::run("torus:16x16", algorithm, "16MiB");
  multitree::run("torus:32x32", algorithm, "64MiB");
  return 0;
}
