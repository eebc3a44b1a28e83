// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Commands on the verilated hardware.
#include <algorithm>
#include <chrono>
#include <memory>

#include "nic/hardware.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/wire/ethernet.hpp"
#include "rtl/wire/job.hpp"
#include "rtl/wire/node_numbers.hpp"
#include "tools/command.hpp"
#include "tools/hardware/hardware.hpp"

namespace multitree::tools {

namespace {

rtl::CosimOptions options_of(const CosimRequest& request) {
  rtl::CosimOptions options;
  options.type =
      for_flag("--datatype", [&] { return rtl::parse_hardware_type(request.data_type); });
  options.adders = request.fast ? rtl::Adders::Function : rtl::Adders::Hardware;
  options.wave = request.wave;
  options.losses = request.losses;
  options.link_errors = request.link_errors;
  return options;
}

CosimRow row_of(const rtl::CosimResult& result, std::uint64_t bytes) {
  CosimRow row{.bytes = bytes,
               .messages = result.messages,
               .events = result.events,
               .model_cycles = result.model_cycles,
               .hardware_cycles = result.hardware.cycles,
               .difference = result.difference,
               .errors = result.hardware.errors,
               .losses = result.losses,
               .link_counts = result.link_counts};
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

}  // namespace

CosimRow cosimulate(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                    const nic::Parameters& parameters, const CosimRequest& request) {
  const rtl::CosimOptions options = options_of(request);
  const std::uint32_t element = rtl::bytes_of(options.type);
  return row_of(rtl::cosimulate(schedule, topology, bytes, parameters, options),
                nic::padded_elements(bytes, element, schedule.ranks) * element);
}

CosimRow cosimulate(const nic::Tables& image, std::span<const nic::Job> jobs,
                    const Topology& topology, const nic::Parameters& parameters,
                    const CosimRequest& request) {
  const rtl::CosimOptions options = options_of(request);
  return row_of(rtl::cosimulate(image, jobs, topology, parameters, options),
                image.elements * rtl::bytes_of(options.type));
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

std::vector<WireRow> run_wires(const Schedule& schedule, const Topology& topology,
                               const nic::Parameters& parameters, const WireRequest& request,
                               runtime::Bootstrap* bootstrap) {
  const auto type =
      for_flag("--datatype", [&] { return rtl::parse_hardware_type(request.data_type); });
  const std::chrono::milliseconds timeout(static_cast<std::int64_t>(request.timeout * 1000));
  rtl::WireJob job{.schedule = schedule,
                   .topology = topology,
                   .bytes = request.bytes,
                   .type = type,
                   .parameters = nic::as_hardware(parameters),
                   .is_hardware = std::vector<bool>(topology.num_nodes(), false),
                   .adders = request.fast ? rtl::Adders::Function : rtl::Adders::Hardware,
                   .drop = request.drop,
                   .timeout = timeout};
  job.parameters.element_bytes = rtl::bytes_of(type);
  const rtl::NodeNumbers numbers(topology);
  for (const NodeId node : request.hardware) job.is_hardware[numbers.of(node)] = true;
  std::vector<rtl::WireReport> reports;
  if (bootstrap == nullptr) {
    reports = rtl::run_in_memory(job);
  } else {
    rtl::processes_of(topology, bootstrap->size());  // refuses other numbers, before all else
    const auto seat = static_cast<std::uint32_t>(index(bootstrap->seat()));
    auto port = std::make_unique<rtl::Ethernet>(request.interfaces, seat);
    const std::size_t frame_bytes = port->frame_bytes();
    const auto open = [&](const rtl::Neighbourhood& around) {
      port->find(around, *bootstrap, timeout);
      return std::move(port);
    };
    reports = rtl::run_on_wires(job, *bootstrap, frame_bytes, open);
  }
  std::vector<WireRow> rows;
  for (std::uint32_t i = 0; i < reports.size(); ++i) {
    const rtl::WireReport& report = reports[i];
    const Node& node = topology.node(numbers.node(i));
    rows.push_back({node.is_switch() ? node.name : "", report.is_hardware, report.flits,
                    report.frames, report.again, report.bad, report.seconds, report.wrong});
  }
  return rows;
}

}  // namespace multitree::tools
