// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cycle by cycle, event by event.
#include "rtl/sim/cosim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "nic/hardware.hpp"
#include "nic/losses.hpp"
#include "nic/machine/machine.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/program/job_program.hpp"
#include "nic/program/program.hpp"
#include "nic/program/switches.hpp"
#include "rtl/sim/comparison_internal.hpp"
#include "rtl/sim/events.hpp"
#include "rtl/sim/late.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

/// Cycles that hardware may take beyond what the model has taken, to show how it ends.
constexpr std::uint64_t kSpareCycles = 200'000;
constexpr std::uint64_t kMostCycles = std::uint64_t{1} << 31;

void require(bool fits, const char* what) {
  if (fits) return;
  throw Error(ErrorCode::Unsupported, fmt::format("hardware model: expected {}", what));
}

/// Whose waves are written: nobody's without a file, everybody's if none are named.
std::vector<Rank> ranks_of_waves(const CosimOptions& options, const Topology& topology) {
  if (options.wave.empty()) return {};
  if (!options.wave_ranks.empty()) return options.wave_ranks;
  std::vector<Rank> all;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) all.push_back(Rank{r});
  return all;
}

/// Whether headers on links are known to count contributions: those behind a route of their own are
/// not looked at.
bool counts(const nic::Parameters& parameters, const std::optional<nic::Losses>& losses) {
  return losses && losses->budget > 0 && parameters.header_flits == 1;
}

/// Runs the model, and gets its events ready to be compared with. \returns when ranks started
/// groups.
std::vector<Recorder::Start> run_model(const nic::Program& program, const Topology& topology,
                                       const nic::Parameters& parameters,
                                       const CosimOptions& options,
                                       std::optional<Comparison>& comparison, CosimResult& result) {
  const bool is_cut = parameters.flow_control == nic::FlowControl::Packet;
  const std::uint64_t payload =
      is_cut ? parameters.packet_bytes / parameters.flit_bytes : kMostCycles;
  Recorder recorder(counts(parameters, options.losses) ? payload + 1 : 0);
  const nic::Simulation model = nic::run_flit_level(
      program, topology, parameters,
      {.observer = &recorder, .losses = options.losses, .link_errors = options.link_errors},
      nullptr);
  if (!model.errors.empty()) {
    throw Error(ErrorCode::Unsupported, "hardware model: " + model.errors.front());
  }
  result.model_cycles = model.cycles;
  result.losses = model.losses;
  result.link_counts = model.link_counts;
  comparison.emplace(recorder.take(), topology, program);
  return recorder.starts();
}

/// What the hardware is told.
Collective collective_of(const nic::Tables& tables, const nic::Program& program,
                         const nic::Parameters& parameters, const CosimOptions& options) {
  Collective collective{
      .tables = tables, .parameters = parameters, .type = options.type, .step_lengths = {}};
  collective.own_chunks = options.own_chunks;
  // A rank may wait as long as another one's doorbell is not rung.
  if (!tables.groups.empty()) {
    collective.watchdog = 0;
    return collective;
  }
  collective.watchdog = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(parameters.watchdog_cycles, (1U << 24) - 1));
  if (parameters.issue == nic::Issue::Lockstep) {
    collective.step_lengths = nic::estimate_steps(program, parameters);
  }
  return collective;
}

/// A part of the buffer, and what is to become of it.
struct Part {
  const Schedule* schedule = nullptr;
  std::uint64_t first = 0, count = 0;  // elements
};

/// What both sides are to run.
struct Setup {
  const nic::Tables& tables;
  const nic::Program& program;
  const Topology& topology;
  const nic::Parameters& parameters;
  const CosimOptions& options;
  std::vector<Part> parts;
  std::vector<std::uint32_t> doorbells = {};  // [group]
};

Buffers part_of(const Buffers& buffers, const Part& part, std::uint32_t bytes) {
  Buffers cut;
  for (const auto& buffer : buffers) {
    const auto first = buffer.begin() + static_cast<std::ptrdiff_t>(part.first * bytes);
    cut.emplace_back(first, first + static_cast<std::ptrdiff_t>(part.count * bytes));
  }
  return cut;
}

/// The first number that is not what the schedules give. Who is absent has contributed nothing.
std::string find_wrong(const Setup& setup, const Buffers& given, const Buffers& got,
                       const std::vector<std::uint32_t>& absent) {
  Buffers inputs = given;
  for (const std::uint32_t rank : absent) std::ranges::fill(inputs[rank], std::byte{});
  const std::uint32_t bytes = bytes_of(setup.options.type);
  for (const Part& part : setup.parts) {
    Buffers expected = part_of(inputs, part, bytes);
    run_schedule(*part.schedule, setup.options.type, expected);
    std::string wrong =
        find_difference(*part.schedule, setup.options.type, expected, part_of(got, part, bytes));
    if (!wrong.empty()) return wrong;
  }
  return {};
}

/// Whether the usual places for early worms are enough is found out by the model, which is equal in
/// every cycle: places that no worm takes change nothing. If not, interfaces have as many as there
/// can be, where those are verilated; the model says so if that is too few.
std::uint32_t places_for(const Setup& setup) {
  const bool has_more = setup.parameters.ports_per_unit == 1 && setup.options.wave.empty();
  const bool has_usual_words =
      WordsUnderWay{setup.parameters.send_words, setup.parameters.add_words} == WordsUnderWay{};
  require(has_usual_words || (!setup.options.synthesized && setup.options.wave.empty()),
          "the usual send_words and add_words of hardware as synthesized, and with waves");
  if (setup.options.synthesized || !has_usual_words) {
    require(has_more,
            "a unit for each port, and no waves, of hardware as synthesized or with other "
            "send_words and add_words than the usual");
    return kMostParkSlots;
  }
  const nic::Simulation model = nic::run_flit_level(
      setup.program, setup.topology, setup.parameters,
      {.losses = setup.options.losses, .link_errors = setup.options.link_errors}, nullptr);
  return model.errors.empty() || !has_more ? setup.parameters.park_slots : kMostParkSlots;
}

/// Hosts ring when their contributions are there, and interfaces are told the bounds.
void bound(const nic::Losses& losses, const std::vector<std::uint32_t>& doorbells,
           Collective& collective) {
  const std::uint32_t ranks = collective.tables.ranks;
  collective.rings = rings_of(losses, doorbells, ranks);
  if (doorbells.size() > 1) collective.bounds = bounds_of(losses, ranks);
}

/// What the registers say, and the model did.
void compare_losses(const nic::Losses& losses, CosimResult& result) {
  if (result.difference.empty() && result.losses) {
    result.difference = find_difference(*result.losses, losses, result.hardware.fates);
  }
  result.losses = report_of(result.hardware.fates);
}

/// Runs the model, if it is to be compared with, then the hardware.
CosimResult run_both(const Setup& setup) {
  const auto& [tables, program, topology, usual, options, parts, doorbells] = setup;
  nic::Parameters parameters = usual;
  parameters.park_slots = places_for(setup);
  const std::vector<Rank> waves = ranks_of_waves(options, topology);
  Network network(topology, parameters, tables.elements * parameters.element_bytes, options.adders,
                  waves, options.link_errors);
  network.set_traced(options.compare);
  CosimResult result;
  result.clock_hz = nic::clock_of(topology, parameters);
  for (const auto& entries : tables.of_rank) result.messages += entries.size();
  Collective collective = collective_of(tables, program, parameters, options);
  std::uint64_t most = kMostCycles;
  std::optional<Comparison> comparison;
  if (options.compare || !doorbells.empty()) {
    for (const auto& [cycle, rank, group] :
         run_model(program, topology, parameters, options, comparison, result)) {
      if (options.losses) continue;  // hosts ring in their own time
      collective.rings.push_back({cycle, rank, 1U << doorbells[group]});
    }
    most = result.model_cycles + kSpareCycles;
  }
  if (!options.compare) comparison.reset();
  const auto absent = result.losses ? result.losses->absent : std::vector<std::uint32_t>{};
  if (options.losses) bound(*options.losses, doorbells, collective);

  Buffers buffers = options.buffers != nullptr
                        ? *options.buffers
                        : make_inputs(tables.ranks, tables.elements, options.type);
  const Buffers inputs = buffers;
  for (const std::uint32_t rank : absent) spoil(buffers[rank]);
  HardwareEvents events(network, topology, program, doorbells,
                        counts(parameters, options.losses)
                            ? std::optional(FlitShape(parameters.flit_bytes))
                            : std::nullopt);
  const auto begin = std::chrono::steady_clock::now();
  result.hardware = run_collective(network, collective, buffers, most, [&](std::uint64_t cycle) {
    const auto now = static_cast<std::uint32_t>(cycle);
    if (now == 0 && !waves.empty()) network.trace_to(options.wave);
    if (comparison) {
      const std::span<const Event> happened = events.of(now);
      if (now > 0) comparison->compare(now - 1, happened);
    }
    if (options.progress && (cycle & 0xfff) == 0 && result.model_cycles != 0) {
      options.progress(static_cast<double>(cycle) / static_cast<double>(result.model_cycles));
    }
  });
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (comparison) {
    result.difference = comparison->difference();
    result.events = comparison->count();
  }
  if (collective.bounds) compare_losses(*options.losses, result);
  result.wrong = find_wrong(setup, inputs, buffers, absent);
  if (options.buffers != nullptr) *options.buffers = std::move(buffers);
  return result;
}

/// \throws Error(InvalidArgument) if they are not.
void check_groups(const nic::Tables& image, std::span<const nic::Job> jobs,
                  std::uint32_t element_bytes) {
  if (image.groups.size() != jobs.size() || jobs.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("hardware model: expected a job for each of {} groups, got {}",
                            image.groups.size(), jobs.size()));
  }
  for (std::size_t g = 0; g < jobs.size(); ++g) {
    const nic::TableGroup& group = image.groups[g];
    const Schedule* const schedule = jobs[g].schedule;
    if (schedule != nullptr && schedule->collective == group.collective &&
        nic::padded_elements(jobs[g].bytes, element_bytes, image.ranks) == group.elements) {
      continue;
    }
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("hardware model: group {}: expected a job of {} on {} elements, got "
                            "another",
                            g, to_string(group.collective), group.elements));
  }
}

/// The roll call and the sum as the groups of an image.
CosimResult cosimulate_losses(const Schedule& schedule, const Topology& topology,
                              std::uint64_t bytes, const nic::Parameters& given,
                              const CosimOptions& options) {
  nic::check_losses(*options.losses, schedule);
  const nic::Parameters parameters = hardware_parameters(given, schedule, options.type);
  const std::uint64_t elements =
      nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks);
  const Schedule call = nic::roll_call_of(schedule);
  const std::vector<nic::Job> jobs =
      nic::counted_jobs(*options.losses, call, schedule, elements * parameters.element_bytes);
  std::vector<nic::GroupSource> sources = nic::counted_groups(call, schedule, elements);
  if (jobs.size() == 1) sources.erase(sources.begin());
  const nic::Tables image = nic::compile_groups(sources, topology);
  const nic::Program program = nic::compile_jobs(jobs, topology, parameters, {});
  return run_both({image,
                   program,
                   topology,
                   parameters,
                   options,
                   {{&schedule, 0, elements}},
                   doorbells_of(image)});
}

/// One collective. \param elements of its buffer
CosimResult cosimulate_one(const Schedule& schedule, const Topology& topology,
                           std::uint64_t elements, const nic::Parameters& parameters,
                           const CosimOptions& options) {
  const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = elements});
  const nic::Program program = nic::compile_program(schedule, topology, elements);
  return run_both({tables, program, topology, parameters, options, {{&schedule, 0, elements}}});
}

/// Switches that add and copy have interfaces, whose memories hold anything at first.
CosimResult cosimulate_in_network(const Schedule& schedule, const Topology& topology,
                                  std::uint64_t bytes, const nic::Parameters& given,
                                  CosimOptions options) {
  nic::expect_hardware_switches(topology);
  const std::uint64_t elements =
      nic::padded_elements(bytes, bytes_of(options.type), schedule.ranks);
  const nic::SwitchesAsRanks made = nic::switches_as_ranks(schedule, topology, elements);
  Buffers* const buffers = options.buffers;
  Buffers all = make_inputs(made.schedule.ranks, elements, options.type);
  if (buffers != nullptr) std::ranges::copy(*buffers, all.begin());
  options.buffers = &all;
  CosimResult result =
      cosimulate_one(made.schedule, made.topology, elements,
                     hardware_parameters(given, made.schedule, options.type), options);
  all.resize(schedule.ranks);
  if (buffers != nullptr) *buffers = std::move(all);
  return result;
}

}  // namespace

nic::Parameters hardware_parameters(const nic::Parameters& parameters, const Schedule& schedule,
                                    HardwareType type) {
  const Schedule* const one = &schedule;
  return hardware_parameters(parameters, {&one, 1}, type);
}

nic::Parameters hardware_parameters(const nic::Parameters& parameters,
                                    std::span<const Schedule* const> schedules, HardwareType type) {
  check_flit_bytes(parameters);
  require(parameters.router_cycles == 0 && parameters.interface_cycles == 1,
          "router_cycles 0 and interface_cycles 1");
  require(parameters.issue_cycles == 0 && parameters.issue_jitter == 0,
          "issue_cycles 0 and issue_jitter 0");
  require(!parameters.cut_through, "wormhole routers");
  require(parameters.ports == 0 && parameters.port_queue_packets == 0, "a port for each link");
  require(parameters.step_discount == 0, "step_discount 0");
  require(parameters.packet_bytes % parameters.flit_bytes == 0, "packets of whole flits");
  nic::Parameters hardware = nic::as_hardware(parameters);
  hardware.element_bytes = bytes_of(type);
  hardware.header_flits = nic::hardware_header_flits(schedules);
  require(hardware.header_flits == 1 || parameters.header_flits <= 2, "header_flits 1");
  return hardware;
}

CosimResult cosimulate(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                       const nic::Parameters& given, const CosimOptions& options) {
  if (options.losses) return cosimulate_losses(schedule, topology, bytes, given, options);
  if (schedule.in_network) return cosimulate_in_network(schedule, topology, bytes, given, options);
  const nic::Parameters parameters = hardware_parameters(given, schedule, options.type);
  const std::uint64_t elements =
      nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks);
  return cosimulate_one(schedule, topology, elements, parameters, options);
}

CosimResult cosimulate(const nic::Tables& image, std::span<const nic::Job> jobs,
                       const Topology& topology, const nic::Parameters& given,
                       const CosimOptions& options) {
  check_groups(image, jobs, bytes_of(options.type));
  std::vector<const Schedule*> schedules;
  std::vector<Part> parts;
  for (std::size_t g = 0; g < jobs.size(); ++g) {
    const nic::TableGroup& group = image.groups[g];
    schedules.push_back(jobs[g].schedule);
    parts.push_back({jobs[g].schedule, group.first_element, group.elements});
  }
  const nic::Parameters parameters = hardware_parameters(given, schedules, options.type);
  const nic::Program program = nic::compile_jobs(jobs, topology, parameters, {});
  return run_both(
      {image, program, topology, parameters, options, std::move(parts), doorbells_of(image)});
}

}  // namespace multitree::rtl
