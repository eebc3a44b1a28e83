// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Commands on the verilated hardware.
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "tools/command.hpp"
#include "tools/hardware/hardware.hpp"

namespace multitree::tools {

CosimRow cosimulate(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                    const nic::Parameters& parameters, const CosimRequest& request) {
  rtl::CosimOptions options;
  options.type =
      for_flag("--datatype", [&] { return rtl::parse_hardware_type(request.data_type); });
  options.adders = request.fast ? rtl::Adders::Function : rtl::Adders::Hardware;
  options.wave = request.wave;
  const rtl::CosimResult result = rtl::cosimulate(schedule, topology, bytes, parameters, options);
  const std::uint32_t element = rtl::bytes_of(options.type);
  CosimRow row{.bytes = nic::padded_elements(bytes, element, schedule.ranks) * element,
               .messages = result.messages,
               .events = result.events,
               .model_cycles = result.model_cycles,
               .hardware_cycles = result.hardware.cycles,
               .difference = result.difference,
               .errors = result.hardware.errors};
  if (result.seconds > 0) {
    row.cycles_per_second = static_cast<double>(result.hardware.simulated) / result.seconds;
  }
  if (result.hardware.cycles > 0) {
    row.busiest = static_cast<double>(result.hardware.busiest_link_flits) /
                  static_cast<double>(result.hardware.cycles);
  }
  if (!result.wrong.empty()) row.errors.push_back("wrong sum: " + result.wrong);
  return row;
}

nic::Simulation simulate_hardware(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t bytes, const nic::Parameters& parameters) {
  rtl::CosimOptions options;
  options.adders = rtl::Adders::Function;
  options.compare = false;
  const rtl::CosimResult result = rtl::cosimulate(schedule, topology, bytes, parameters, options);
  nic::Simulation simulation;
  simulation.cycles = result.hardware.cycles;
  simulation.clock_hz = result.clock_hz;
  simulation.messages = result.messages;
  simulation.link_flits = result.hardware.link_flits;
  simulation.busiest_link_flits = result.hardware.busiest_link_flits;
  simulation.errors = result.hardware.errors;
  if (!result.wrong.empty()) simulation.errors.push_back("wrong sum: " + result.wrong);
  simulation.checked = result.wrong.empty();
  return simulation;
}

}  // namespace multitree::tools
