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
  Parameters hardware = as_hardware(parameters);
  hardware.header_flits = hardware_header_flits(schedule, topology);
  return hardware;
}

Parameters as_hardware(Parameters parameters) {
  parameters.reduction = Reduction::Pipelined;
  parameters.reduction_cycles = mt_pkg::kReduceCycles;
  parameters.park_slots = mt_pkg::kParkSlots;
  parameters.ejection_channels = 1;
  parameters.shared_inputs = true;
  return parameters;
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
