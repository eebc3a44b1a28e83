// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast verilated networks are under an all-reduce, beside the C++ flit model of the same
/// cycles: bench_hardware [SPEC [ALGORITHM [SIZE]]]. Prints the median of three runs of each. A
/// cycle-level simulator that is widely used (BookSim 2, its default router of four stages) has
/// been measured at 0.74 million router-cycles a second on an 8x8 torus, at a third of the load.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <functional>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/machine/machine.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"

namespace multitree {
namespace {

constexpr double kPeer = 0.74e6;  // router-cycles a second

/// Cycles a second of processor time, median of three.
double rate(const std::function<std::uint64_t()>& run) {
  std::array<double, 3> rates{};
  for (double& r : rates) {
    const std::clock_t begin = std::clock();
    const std::uint64_t cycles = run();
    r = static_cast<double>(cycles) * CLOCKS_PER_SEC / static_cast<double>(std::clock() - begin);
  }
  std::ranges::sort(rates);
  return rates[1];
}

int run(const std::string& spec, const std::string& algorithm, std::uint64_t bytes) {
  const Topology topology = make_topology(spec);
  const Schedule schedule = make_schedule(algorithm, topology);
  const nic::Parameters parameters =
      rtl::hardware_parameters({}, schedule, rtl::HardwareType::Fp32);
  const std::uint64_t elements =
      nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks);
  const nic::Program program = nic::compile_program(schedule, topology, elements);
  std::uint64_t all = 0;
  const double hardware = rate([&] {
    const rtl::CosimResult result = rtl::cosimulate(
        schedule, topology, bytes, {}, {.adders = rtl::Adders::Function, .compare = false});
    all = result.hardware.cycles;
    return result.hardware.simulated;
  });
  const double model =
      rate([&] { return nic::run_flit_level(program, topology, parameters, {}, nullptr).cycles; });
  const double nodes = topology.num_nodes();
  fmt::print("{} {} {} bytes: {} cycles\n", spec, algorithm, bytes, all);
  fmt::print("hardware {:>10.0f} cycles/s {:>7.3f} M node-cycles/s, {:.2f} of the peer\n", hardware,
             hardware * nodes * 1e-6, hardware * nodes / kPeer);
  fmt::print("model    {:>10.0f} cycles/s {:>7.3f} M node-cycles/s, {:.1f} of the hardware\n",
             model, model * nodes * 1e-6, model / hardware);
  return 0;
}

}  // namespace
}  // namespace multitree

int main(int argc, char** argv) {
  try {
    return multitree::run(argc > 1 ? argv[1] : "torus:8x8", argc > 2 ? argv[2] : "multitree",
                          multitree::parse_bytes(argc > 3 ? argv[3] : "1MiB"));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_hardware: {}\n", error.what());
    return 1;
  }
}
