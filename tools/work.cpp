// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flags to schedules.
#include "tools/work.hpp"

#include <fmt/format.h>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "nic/hardware.hpp"
#include "tools/progress.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

void check_verifies(const Schedule& schedule, const Topology& topology, const std::string& file) {
  const VerifyReport report = verify(schedule, topology, {.max_violations = 1});
  if (report.ok()) return;
  throw Error(ErrorCode::InvalidInput, fmt::format("{}: expected a schedule that verifies: {}",
                                                   file, report.violations.front().message));
}

/// All but the schedules.
Work begin_work(const WorkFlags& flags, std::string_view command) {
  if (flags.network.topology.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected --schedule or --topology, got neither", command));
  }
  Work work{.topology = load_whole_network(flags.network), .names = {}, .schedules = {}};
  work.collective = for_flag("--collective", [&] { return parse_collective(flags.collective); });
  work.root = check_root(flags.root, work.topology);
  return work;
}

Schedule make(const std::string& algorithm, std::uint64_t bytes, const Work& work) {
  return for_flag("--algorithm", [&] {
    const std::string spec = bytes > 0 ? told(algorithm, bytes, kMessageOverhead) : algorithm;
    return make_schedule(spec, work.topology, work.collective, work.root);
  });
}

}  // namespace

void add_collective_flags(CLI::App& app, std::string& collective, std::uint32_t& root) {
  app.add_option("-c,--collective", collective, collective_names())->capture_default_str();
  app.add_option("-r,--root", root, "Root rank, where there is one")
      ->check(number_from(0))
      ->capture_default_str();
}

Work load_work(const WorkFlags& flags, std::string_view command) {
  if (!flags.schedule.empty()) {
    PlanFile file = load_plan(flags.schedule);
    for (const SizedSchedule& sized : file.schedules) {
      check_verifies(sized.schedule, file.topology, flags.schedule);
    }
    const Schedule& first = file.schedules.front().schedule;
    Work work{.topology = std::move(file.topology),
              .collective = first.collective,
              .root = first.root,
              .names = {first.algorithm},
              .schedules = {}};
    work.schedules.push_back(std::move(file.schedules));
    return work;
  }
  Work work = begin_work(flags, command);
  work.names = algorithm_list(flags.algorithms, work.topology);
  Progress progress("generating schedules");
  for (const std::string& name : work.names) {
    progress.update(
        fmt::format("generating {} on {}", name, work.topology.name()),
        static_cast<double>(work.schedules.size()) / static_cast<double>(work.names.size()));
    work.schedules.push_back(for_all_sizes(make(name, flags.bytes, work)));
  }
  return work;
}

SchedulePlan load_one(const WorkFlags& flags, std::string_view command) {
  if (!flags.schedule.empty()) {
    SchedulePlan plan = load_schedule(flags.schedule);
    check_verifies(plan.schedule, plan.topology, flags.schedule);
    return plan;
  }
  Work work = begin_work(flags, command);
  Schedule schedule =
      make(flags.algorithms.empty() ? "multitree" : flags.algorithms, flags.bytes, work);
  return {std::move(work.topology), std::move(schedule)};
}

void add_interface_flags(CLI::App& app, InterfaceFlags& flags) {
  app.add_option("--flow-control", flags.flow_control,
                 "message (one header a chunk, the default) or packet")
      ->check(one_of({"message", "packet"}));
  app.add_option("--issue", flags.issue, "dependency (the default) or lockstep")
      ->check(one_of({"dependency", "lockstep"}));
  app.add_option("--config", flags.config, "JSON file with these and all other parameters");
}

nic::Parameters parameters_of(const InterfaceFlags& flags, const nic::Parameters& otherwise) {
  nic::Parameters p = otherwise;
  if (!flags.config.empty()) {
    p = nic::read_parameters(read_file(flags.config), flags.config, otherwise);
  }
  if (!flags.flow_control.empty()) {
    p.flow_control =
        flags.flow_control == "packet" ? nic::FlowControl::Packet : nic::FlowControl::Message;
  }
  if (!flags.issue.empty()) {
    p.issue = flags.issue == "lockstep" ? nic::Issue::Lockstep : nic::Issue::Dependency;
  }
  return p;
}

nic::Parameters verilated_parameters_of(const InterfaceFlags& flags) {
  const nic::Parameters p = parameters_of(flags, nic::defaults_of(nic::Machine::Hardware));
  for_flag("--config", [&] { nic::expect_verilated(p); });
  return p;
}

}  // namespace multitree::tools
