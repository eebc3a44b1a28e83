// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs collectives of all kinds on three ranks in a row and writes what they have covered.
/// usage: rtl_coverage FILE
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <exception>
#include <vector>

#include "Vcovered_mesh_1x3.h"
#include "algorithms/registry.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/node.hpp"
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

/// The elements of a group, of 4 bytes.
Buffers part_of(const Buffers& buffers, const nic::TableGroup& group) {
  Buffers part;
  for (const std::vector<std::byte>& buffer : buffers) {
    const auto begin = buffer.begin() + static_cast<std::ptrdiff_t>(4 * group.first_element);
    part.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(4 * group.elements));
  }
  return part;
}

/// As many groups as there are doorbells, the most urgent last, each rung a little later at each
/// rank.
bool run_groups(const Topology& topology, const char* file) {
  constexpr HardwareType kType = HardwareType::Int32;
  const Schedule schedule = make_schedule("multitree", topology);
  const nic::Parameters parameters = hardware_parameters({}, schedule, kType);
  const std::uint64_t elements = nic::padded_elements(400, 4, schedule.ranks);
  const std::uint32_t groups = mt_pkg::kNumGroups;
  std::vector<nic::GroupSource> sources;
  for (std::uint32_t g = 0; g < groups; ++g) {
    sources.push_back({.schedule = &schedule, .elements = elements, .priority = groups - g});
  }
  const nic::Tables tables = nic::compile_groups(sources, topology);
  rtl::Collective collective{
      .tables = tables, .parameters = parameters, .type = kType, .step_lengths = {}};
  Buffers buffers = make_inputs(schedule.ranks, tables.elements, kType);
  const Buffers inputs = buffers;
  Top<Vcovered_mesh_1x3> top(topology, parameters, tables.elements * 4);
  const auto ring = [&](std::uint64_t cycle) {
    if (cycle % 10 != 0 || cycle / 10 >= groups) return;
    const RegisterWrite bell{reg::kDoorbell, 1U << (groups - 1 - cycle / 10)};
    top.write(std::vector<std::vector<RegisterWrite>>(schedule.ranks, {bell}));
  };
  const RunResult result = run_collective(top, collective, buffers, kMostCycles, ring);
  top.context().coveragep()->write(file);
  for (const nic::TableGroup& group : tables.groups) {
    Buffers expected = part_of(inputs, group), got = part_of(buffers, group);
    run_schedule(schedule, kType, expected);
    if (!find_difference(schedule, kType, expected, got).empty()) return false;
  }
  return result.errors.empty();
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
  if (!run_groups(topology, fmt::format("{}.{}.dat", prefix, number).c_str())) {
    fmt::print("groups: wrong\n");
    ++failures;
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
