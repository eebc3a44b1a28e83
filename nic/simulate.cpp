// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which model serves a simulation.
#include "nic/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "algorithms/cost.hpp"
#include "nic/jobs.hpp"
#include "nic/losses.hpp"
#include "nic/machine/machine.hpp"
#include "nic/machine/reference.hpp"
#include "nic/message/events.hpp"
#include "nic/program/job_program.hpp"
#include "nic/program/program.hpp"
#include "nic/program/switches.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::array<std::string_view, 4> kModels = {"alphabeta", "message", "flit", "rtl"};

Simulation run_alpha_beta(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                          const Parameters& parameters) {
  if (parameters.reduction == Reduction::Pipelined) {
    throw Error(ErrorCode::Unsupported,
                "alphabeta model: expected streaming or store reduction, pipelined is for the flit "
                "model only");
  }
  const std::uint64_t clock = clock_of(topology, parameters);
  const auto time =
      static_cast<unsigned __int128>(predict_time(schedule, topology, bytes).picoseconds);
  Simulation result;
  result.cycles = static_cast<std::uint64_t>((time * clock + 999'999'999'999) / 1'000'000'000'000);
  result.clock_hz = clock;
  result.messages = schedule.transfers.size();
  return result;
}

/// The result of each schedule, in the part of the buffer that begins at its element.
struct Expected {
  const Schedule* schedule = nullptr;
  std::uint64_t first = 0, count = 0;
};

Memory part_of(const Memory& memory, const Expected& part) {
  Memory cut;
  for (const std::vector<float>& buffer : memory) {
    const auto first = buffer.begin() + static_cast<std::ptrdiff_t>(part.first);
    cut.emplace_back(first, first + static_cast<std::ptrdiff_t>(part.count));
  }
  return cut;
}

Simulation run_flits(const std::vector<Expected>& parts, const Topology& topology,
                     const Program& program, const Parameters& parameters,
                     const SimulationOptions& options) {
  if (!options.data) return run_flit_level(program, topology, parameters, options, nullptr);
  const Memory inputs = make_inputs(program.tables.ranks, program.tables.elements);
  Memory memory = inputs;
  Simulation result = run_flit_level(program, topology, parameters, options, &memory);
  if (!result.errors.empty()) return result;
  for (const Expected& part : parts) {
    Memory expected = part_of(inputs, part);
    if (result.losses) {
      for (const std::uint32_t rank : result.losses->absent) {
        std::ranges::fill(expected[rank], 0.0F);
      }
    }
    run_schedule(*part.schedule, expected);
    std::string difference = find_difference(*part.schedule, expected, part_of(memory, part));
    if (!difference.empty()) result.errors.push_back(std::move(difference));
  }
  result.checked = result.errors.empty();
  return result;
}

void check_faults(const std::vector<Fault>& faults, const Topology& topology, Model model) {
  for (const Fault& fault : faults) {
    if (model == Model::AlphaBeta) {
      throw Error(ErrorCode::Unsupported, "alphabeta model: expected no faults");
    }
    if (fault.cycle >= std::uint64_t{1} << 31) {
      throw Error(ErrorCode::Unsupported, "fault: expected a cycle below 2^31");
    }
    const bool is_late = fault.kind == Fault::Kind::LateInterface;
    const std::uint32_t number = is_late ? index(fault.rank) : index(fault.link);
    const std::uint32_t count = is_late ? topology.num_ranks() : topology.num_links();
    if (number < count) continue;
    throw Error(ErrorCode::InvalidArgument, fmt::format("fault: expected a {} below {}, got {}",
                                                        is_late ? "rank" : "link", count, number));
  }
}

void check_options(const Topology& topology, const Parameters& parameters,
                   const SimulationOptions& options) {
  if (options.model == Model::Rtl) {
    throw Error(ErrorCode::Unsupported, "simulation: expected alphabeta, message or flit, got rtl");
  }
  check_faults(options.faults, topology, options.model);
  if (options.link_errors && options.model != Model::Flit) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("links that lose: expected the flit model, got {}", to_string(options.model)));
  }
  // Whatever they were made by: nothing else checks them.
  (void)read_parameters(write_parameters(parameters), "parameters");
}

Simulation run_jobs(std::span<const Job> jobs, const Topology& topology,
                    const Parameters& parameters, const SimulationOptions& options,
                    std::span<const double> slowness) {
  const Program program = compile_jobs(jobs, topology, parameters, slowness);
  if (options.model == Model::Message) {
    return run_message_level(program, topology, parameters, options);
  }
  std::vector<Expected> parts;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].schedule == nullptr) continue;
    const std::uint64_t first = program.jobs[j].first_element;
    const std::uint64_t end =
        j + 1 < jobs.size() ? program.jobs[j + 1].first_element : program.tables.elements;
    parts.push_back({jobs[j].schedule, first, end - first});
  }
  return run_flits(parts, topology, program, parameters, options);
}

/// The roll call and the sum.
Simulation run_losing(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                      const Parameters& parameters, const SimulationOptions& options) {
  if (options.model != Model::Flit || parameters.reduction != Reduction::Pipelined) {
    throw Error(ErrorCode::Unsupported,
                "losses: expected the flit model with pipelined reduction, as in hardware");
  }
  for (const Fault& fault : options.faults) {
    if (fault.kind != Fault::Kind::LateInterface) continue;
    throw Error(ErrorCode::Unsupported,
                "losses: expected interfaces that start together, got a late one");
  }
  check_losses(*options.losses, schedule);
  const Schedule call = roll_call_of(schedule);
  const std::vector<Job> jobs = counted_jobs(*options.losses, call, schedule, bytes);
  return run_jobs(jobs, topology, parameters, options, {});
}

/// Switches that add and copy have an interface each.
Simulation run_in_network(const Schedule& schedule, const Topology& topology,
                          std::uint64_t elements, const Parameters& parameters,
                          const SimulationOptions& options) {
  if (parameters.reduction == Reduction::Pipelined) expect_hardware_switches(topology);
  const SwitchesAsRanks made = switches_as_ranks(schedule, topology, elements);
  const Program program = compile_program(made.schedule, made.topology, elements);
  return options.model == Model::Message
             ? run_message_level(program, made.topology, parameters, options)
             : run_flits({{&made.schedule, 0, elements}}, made.topology, program, parameters,
                         options);
}

}  // namespace

Model parse_model(std::string_view text) {
  for (std::size_t m = 0; m < kModels.size(); ++m) {
    if (text == kModels[m]) return static_cast<Model>(m);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected alphabeta, message, flit or rtl, got '{}'", text));
}

std::string_view to_string(Model model) { return kModels[static_cast<std::size_t>(model)]; }

Simulation simulate(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                    const Parameters& parameters, const SimulationOptions& options) {
  check_options(topology, parameters, options);
  if (options.losses) return run_losing(schedule, topology, bytes, parameters, options);
  if (options.model == Model::AlphaBeta) {
    return run_alpha_beta(schedule, topology, bytes, parameters);
  }
  const std::uint64_t elements = padded_elements(bytes, parameters.element_bytes, schedule.ranks);
  if (schedule.in_network) {
    return run_in_network(schedule, topology, elements, parameters, options);
  }
  const Program program = compile_program(schedule, topology, elements);
  if (options.model == Model::Message) {
    return run_message_level(program, topology, parameters, options);
  }
  return run_flits({{&schedule, 0, program.tables.elements}}, topology, program, parameters,
                   options);
}

Simulation simulate(std::span<const Job> jobs, const Topology& topology,
                    const Parameters& parameters, const SimulationOptions& options,
                    std::span<const double> slowness) {
  check_options(topology, parameters, options);
  if (options.model == Model::AlphaBeta) {
    throw Error(ErrorCode::Unsupported,
                "simulation of jobs: expected message or flit, got alphabeta");
  }
  if (options.losses) {
    throw Error(ErrorCode::Unsupported, "simulation of jobs: expected no losses, got some");
  }
  return run_jobs(jobs, topology, parameters, options, slowness);
}

}  // namespace multitree::nic
