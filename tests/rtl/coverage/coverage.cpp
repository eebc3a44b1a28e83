// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs collectives of all kinds on three ranks in a row and writes what they have covered.
/// usage: rtl_coverage FILE
#include <fmt/format.h>

#include <array>
#include <exception>

#include "Vcovered_mesh_1x3.h"
#include "algorithms/registry.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/top.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kMostCycles = 400'000;
constexpr std::uint32_t kRegisters = 0x120;  // bytes of them

/// \returns whether it was possible and right.
bool run(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
         nic::Parameters parameters, HardwareType type, bool own_chunks, const char* file) {
  parameters = hardware_parameters(parameters, schedule, type);
  const std::uint64_t elements =
      nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks);
  const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = elements});
  const nic::Program program = nic::compile_program(schedule, topology, elements);
  rtl::Collective collective{.tables = tables,
                             .parameters = parameters,
                             .type = type,
                             .step_lengths = {},
                             .own_chunks = own_chunks};
  if (parameters.issue == nic::Issue::Lockstep) {
    collective.step_lengths = nic::estimate_steps(program, parameters);
  }
  Buffers buffers = make_inputs(schedule.ranks, elements, type), expected = buffers;
  Top<Vcovered_mesh_1x3> top(topology, parameters, elements * parameters.element_bytes);
  const RunResult result = run_collective(top, collective, buffers, kMostCycles);
  for (std::uint32_t address = 0; address < kRegisters; address += 4) {
    (void)top.read(Rank{1}, address);
  }
  run_schedule(schedule, type, expected);
  top.context().coveragep()->write(file);
  return result.errors.empty() && find_difference(schedule, type, expected, buffers).empty();
}

int run_all(const std::string& prefix) {
  const Topology topology = make_topology("mesh:1x3");
  constexpr std::array kAlgorithms = {"multitree", "double-binary-tree"};
  constexpr std::array kTypes = {HardwareType::Fp32, HardwareType::Int32, HardwareType::Bf16,
                                 HardwareType::Fp16};
  int failures = 0, number = 0;
  for (const char* algorithm : kAlgorithms) {
    for (const HardwareType type : kTypes) {
      nic::Parameters parameters;
      parameters.issue = number % 2 == 0 ? nic::Issue::Dependency : nic::Issue::Lockstep;
      parameters.flow_control =
          number % 3 == 0 ? nic::FlowControl::Packet : nic::FlowControl::Message;
      parameters.buffer_flits = number % 4 == 3 ? 20 : 318;
      constexpr std::uint64_t kSmall = 120, kLarge = 6'000;
      try {
        const Schedule schedule = make_schedule(algorithm, topology);
        const std::string file = fmt::format("{}.{}.dat", prefix, number);
        if (!run(schedule, topology, number % 5 == 4 ? kSmall : kLarge, parameters, type,
                 number % 2 == 1, file.c_str())) {
          fmt::print("{}: wrong\n", algorithm);
          ++failures;
        }
      } catch (const Error& error) {
        if (error.code() != ErrorCode::Unsupported) throw;
      }
      ++number;
    }
  }
  return failures;
}

}  // namespace
}  // namespace multitree::rtl

int main(int argc, char** argv) {
  try {
    return argc == 2 && multitree::rtl::run_all(argv[1]) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rtl_coverage: {}\n", error.what());
    return 1;
  }
}
