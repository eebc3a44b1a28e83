// SPDX-License-Identifier: BSD-3-Clause
#include "nic/hardware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "generated/mt_pkg.hpp"
#include "nic/program/switches.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// Links of a route for which a header has room: its last hop is the interface.
constexpr std::size_t kShortRoute = mt_pkg::kShortHops - 1;

constexpr std::array<std::string_view, 2> kMachines = {"ideal", "hardware"};

}  // namespace

Machine parse_machine(std::string_view text) {
  const auto found = std::ranges::find(kMachines, text);
  if (found != kMachines.end()) return static_cast<Machine>(found - kMachines.begin());
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("machine: expected ideal or hardware, got '{}'", text));
}

std::string_view to_string(Machine machine) { return kMachines[static_cast<std::size_t>(machine)]; }

Parameters on_machine(Machine machine, const Parameters& parameters, const Schedule& schedule,
                      const Topology& topology) {
  if (machine == Machine::Ideal) return parameters;
  return with_hardware_headers(as_hardware(parameters), schedule, topology);
}

Parameters with_hardware_headers(Parameters parameters, const Schedule& schedule,
                                 const Topology& topology) {
  parameters.header_flits = hardware_header_flits(schedule, topology);
  return parameters;
}

Parameters defaults_of(Machine machine) {
  return machine == Machine::Hardware ? as_hardware({}) : Parameters{};
}

Parameters as_hardware(Parameters parameters) {
  parameters.reduction = Reduction::Pipelined;
  parameters.reduction_cycles = mt_pkg::kReduceCycles;
  parameters.park_slots = mt_pkg::kParkSlots;
  parameters.ejection_channels = 1;
  parameters.shared_inputs = true;
  return parameters;
}

void expect_hardware(const Parameters& parameters) {
  const auto expect = [](bool fits, std::string_view what) {
    if (fits) return;
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("hardware: expected {}, which it has in no other way: leave it out", what));
  };
  expect(parameters.reduction == Reduction::Pipelined, "reduction pipelined");
  expect(parameters.ejection_channels <= 1, "ejection_channels 1");
  expect(parameters.shared_inputs, "shared_inputs true");
}

void expect_verilated(const Parameters& parameters) {
  expect_hardware(parameters);
  if (parameters.reduction_cycles == mt_pkg::kReduceCycles &&
      parameters.park_slots == mt_pkg::kParkSlots) {
    return;
  }
  throw Error(
      ErrorCode::Unsupported,
      fmt::format("hardware model: expected reduction_cycles {} and park_slots {}, which is "
                  "verilated, got {} and {}: leave them out, or take simulate --machine "
                  "hardware",
                  mt_pkg::kReduceCycles, mt_pkg::kParkSlots, parameters.reduction_cycles,
                  parameters.park_slots));
}

std::uint32_t hardware_header_flits(std::span<const Schedule* const> schedules) {
  std::size_t longest = 0;
  for (const Schedule* const schedule : schedules) {
    for (const Transfer& t : schedule->transfers) {
      longest = std::max<std::size_t>(longest, t.route_size);
    }
  }
  return longest > kShortRoute ? 2 : 1;
}

std::uint32_t hardware_header_flits(const Schedule& schedule, const Topology& topology) {
  // So many elements that every chunk has some.
  constexpr std::uint64_t kMany = std::uint64_t{1} << 40;
  const Schedule* one = &schedule;
  if (!schedule.in_network) return hardware_header_flits({&one, 1});
  const SwitchesAsRanks made = switches_as_ranks(schedule, topology, kMany * schedule.ranks);
  one = &made.schedule;
  return hardware_header_flits({&one, 1});
}

}  // namespace multitree::nic
