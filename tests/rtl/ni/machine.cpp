// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include <algorithm>
#include <array>

#include "algorithms/registry.hpp"
#include "nic/nic/endpoints.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl::test {
namespace {

/// Arming counts through all pieces.
constexpr std::uint32_t kArmCycles = (1 << 12) + 2;
/// From the last flit on a link to the last that an interface does, at most.
constexpr std::uint64_t kSlack = 500;

}  // namespace

Plan::Plan(const Scenario& given)
    : scenario(given),
      topology(make_topology(scenario.topology)),
      schedule(make_schedule(scenario.algorithm, topology)),
      parameters(hardware_parameters(scenario.parameters, schedule, scenario.type)),
      elements(nic::padded_elements(scenario.bytes, parameters.element_bytes, schedule.ranks)),
      tables(nic::compile_tables(schedule, topology, {.elements = elements})),
      program(nic::compile_program(schedule, topology, elements)),
      collective{.tables = tables,
                 .parameters = parameters,
                 .type = scenario.type,
                 .step_lengths = {},
                 .watchdog = scenario.watchdog},
      inputs(make_inputs(schedule.ranks, elements, scenario.type)),
      sums(inputs) {
  if (parameters.issue == nic::Issue::Lockstep) {
    collective.step_lengths = nic::estimate_steps(program, parameters);
  }
  run_schedule(schedule, scenario.type, sums);
  writes = rtl::load(collective, {}, Network::groups(parameters));
}

Machine::Machine(const Plan& plan, Adders adders, const AxiPorts& axi)
    : plan_(plan),
      network_(plan.topology, plan.parameters, plan.elements * plan.parameters.element_bytes,
               adders, {}, {}, axi),
      done_(plan.schedule.ranks) {}

void Machine::tick() {
  network_.tick();
  look();
}

void Machine::look() {
  for (std::uint32_t r = 0; r < done_.size(); ++r) {
    if (network_.trace(Rank{r}).done) done_[r] = true;
  }
}

void Machine::write(Rank rank, RegisterWrite write) {
  std::vector<std::vector<RegisterWrite>> writes(plan_.schedule.ranks);
  writes[index(rank)] = {write};
  network_.write(writes);
  look();
}

void Machine::arm() {
  network_.write(std::vector(plan_.schedule.ranks, std::vector{rtl::arm()}));
  run_cycles(kArmCycles);
  std::fill(done_.begin(), done_.end(), false);
  for (std::uint32_t r = 0; r < plan_.schedule.ranks; ++r) {
    std::ranges::copy(plan_.inputs[r], network_.memory(Rank{r}).bytes().begin());
  }
}

void Machine::write_all(RegisterWrite write) {
  network_.write(std::vector(plan_.schedule.ranks, std::vector{write}));
  look();
}

void Machine::go() { write_all(rtl::go()); }

void Machine::start() {
  load(plan_.writes);
  arm();
  go();
}

void Machine::run_cycles(std::uint64_t cycles) {
  for (std::uint64_t c = 0; c < cycles; ++c) tick();
}

bool Machine::all_done() const {
  return std::ranges::all_of(done_, [](bool d) { return d; });
}

void Machine::run(std::uint64_t most) {
  // Once nothing has moved for so long, all that are not done have noticed.
  const std::uint64_t quiet_limit = plan_.scenario.watchdog + kSlack;
  std::uint64_t quiet = 0;
  for (std::uint64_t c = 0; c < most && quiet < quiet_limit && !all_done(); ++c) {
    tick();
    ++quiet;
    for (std::uint32_t l = 0; l < network_.num_links(); ++l) {
      if (network_.sent(LinkId{l}).valid) quiet = 0;
    }
  }
}

std::vector<End> Machine::ends() {
  std::vector<End> ends;
  for (std::uint32_t r = 0; r < done_.size(); ++r) {
    ends.push_back({.done = done_[r],
                    .errors = network_.read(Rank{r}, reg::kError),
                    .first = network_.read(Rank{r}, reg::kFirstError)});
  }
  return ends;
}

std::string Machine::wrong(std::span<const End> ends) {
  Buffers got = plan_.sums;  // of those that do not claim anything
  for (std::uint32_t r = 0; r < got.size(); ++r) {
    if (!ends[r].done || ends[r].errors != 0) continue;
    std::ranges::copy(network_.memory(Rank{r}).bytes(), got[r].begin());
  }
  return find_difference(plan_.schedule, plan_.scenario.type, plan_.sums, got);
}

std::uint32_t Machine::port_of(LinkId link) const {
  const auto& in = plan_.topology.in_links(plan_.topology.link(link).dst);
  return static_cast<std::uint32_t>(std::ranges::find(in, link) - in.begin());
}

Rank Machine::rank_at_end_of(LinkId link) const {
  return plan_.topology.node(plan_.topology.link(link).dst).rank.value();
}

}  // namespace multitree::rtl::test
