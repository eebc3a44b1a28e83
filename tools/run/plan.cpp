// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flags to schedules that were verified.
#include "tools/run/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "algorithms/io/io.hpp"
#include "algorithms/tuning/choose.hpp"
#include "algorithms/tuning/planner.hpp"
#include "nic/encode/image.hpp"
#include "nic/table/check.hpp"
#include "tools/command.hpp"
#include "tools/run/map.hpp"
#include "tools/run/observe_flags.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

/// Processes to start where no topology says it: --np, the job's size, or -n.
std::uint32_t free_rank_count(const RunFlags& flags, std::uint32_t job_size) {
  if (flags.processes > 0) return flags.processes;
  if (job_size > 0) return job_size;
  return std::max(flags.iterations, 1U);
}

/// Names of the algorithms that take part, each once.
std::string name_of(const SizedSchedules& schedules) {
  std::vector<std::string> names;
  for (const SizedSchedule& sized : schedules) {
    const std::string& name = sized.schedule.algorithm;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

/// One more run, of which nothing but a name is known. \returns its number
std::size_t add_run(Plan& plan, const std::string& name) {
  plan.runs.push_back({name, plan.network.front().name(), std::nullopt, {}});
  plan.schedules.emplace_back();
  return plan.runs.size() - 1;
}

/// The only run: these, as a file says.
void plan_given(Plan& plan, Topology topology, SizedSchedules schedules) {
  const Schedule& first = schedules.front().schedule;
  check_along_trees(first.collective, "--schedule");
  plan.options.collective = first.collective;
  plan.options.root = first.root;
  plan.network.push_back(std::move(topology));
  plan.ranks = first.ranks;
  set_run(plan, add_run(plan, {}), std::move(schedules));
}

/// What the entries of an image say, and nothing of the program that they were made of.
void plan_tables(Plan& plan, const RunFlags& flags) {
  if (flags.network.topology.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "--tables: expected --topology, the network that the image is for, got none");
  }
  Topology topology = load_whole_network(flags.network);
  const nic::Tables tables = nic::read_image(read_file(flags.tables), flags.tables);
  Schedule schedule = for_flag("--tables", [&] { return nic::schedule_of(tables, topology); });
  schedule.algorithm = "tables";
  if (!flags.has_sizes) {
    plan.options.sizes = {tables.elements * runtime::size_of(plan.options.types.front())};
  }
  plan_given(plan, std::move(topology), for_all_sizes(std::move(schedule)));
}

/// Of a job of so many processes. \throws Error(InvalidArgument) if all of them are spares
std::uint32_t ranks_of(const RunFlags& flags, std::uint32_t job_size) {
  if (job_size == 0 || flags.spares < job_size) return job_size == 0 ? 0 : job_size - flags.spares;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--spares: expected fewer than the {} processes of the job, got {}",
                          job_size, flags.spares));
}

/// A spare has to know what the ranks agreed on before it came.
void check_spares(const Plan& plan, const RunFlags& flags) {
  if (flags.spares == 0) return;
  const auto refuse = [](std::string_view expected, std::string_view found) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--spares: expected {}, got {}", expected, found));
  };
  if (flags.on_failure != "shrink") {
    refuse("--on-failure shrink, as spares come for ranks that die", flags.on_failure);
  }
  if (flags.transport == "loopback") refuse("processes, which die alone", "--transport loopback");
  if (!plan.automatic.empty()) refuse("algorithms by name", "-a auto");
  const LinkTimes times = link_times(flags.observe, false);
  const std::array<std::pair<bool, std::string_view>, 4> others{
      {{!flags.map.empty(), "--map"},
       {flags.device, "--device"},
       {flags.check_links > 0, "--check-links"},
       {times != LinkTimes::Declared, "times of links"}}};
  for (const auto& [given, what] : others) {
    if (given) refuse("a run without " + std::string(what), what);
  }
  if (plan.ranks < 2) refuse("two ranks or more", fmt::format("{}", plan.ranks));
  if (flags.spares > plan.ranks) {
    refuse(fmt::format("up to {}, one for each rank", plan.ranks), fmt::format("{}", flags.spares));
  }
}

}  // namespace

void set_run(Plan& plan, std::size_t i, SizedSchedules schedules) {
  check_verified(schedules, plan.network.front());
  plan.runs[i].algorithm = name_of(schedules);
  plan.schedules[i] = std::move(schedules);
}

void check_choice(const Plan& plan, const RunFlags& flags, std::string_view expected) {
  const bool asks = flags.tries > 0 || flags.refine || !flags.save_plan.empty();
  if (!plan.automatic.empty() || !asks) return;
  const std::string_view flag = flags.tries > 0 ? "try" : flags.refine ? "refine" : "save-plan";
  throw Error(ErrorCode::InvalidArgument, fmt::format("--{}: expected {}", flag, expected));
}

Plan make_plan(const RunFlags& flags, std::uint32_t job_size, const Counted& counted) {
  Plan plan;
  plan.options = benchmark_options(flags);
  job_size = ranks_of(flags, job_size);
  if (!flags.tables.empty()) {
    plan_tables(plan, flags);
  } else if (!flags.schedule.empty()) {
    PlanFile file = load_plan(flags.schedule);
    plan_given(plan, std::move(file.topology), std::move(file.schedules));
  } else {
    NetworkFlags network = flags.network;
    if (network.topology.empty()) {
      network.topology = fmt::format("full:{}", free_rank_count(flags, job_size));
    }
    Topology topology = load_whole_network(network);
    if (counted) topology = counted(topology);
    plan.network.push_back(topology);
    plan.ranks = topology.num_ranks();
    check_root(index(plan.options.root), topology);
    for (const std::string& name : algorithm_list(flags.algorithms, topology, {kHost})) {
      const std::size_t run = add_run(plan, name);
      if (name == kAuto) plan.automatic.push_back(run);
      if (name == kHost || name == kAuto) continue;
      SizedSchedules schedules = for_flag("--algorithm", [&] {
        return choose_schedules(name, topology, plan.options.collective, plan.options.root);
      });
      set_run(plan, run, std::move(schedules));
    }
  }
  const std::uint32_t wanted = job_size > 0 ? job_size : flags.processes;
  if (wanted > 0 && wanted != plan.ranks) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("{}: expected {} processes, one for each rank of {}, got {}{}",
                    job_size > 0 ? "the job" : "--np", plan.ranks, plan.network.front().name(),
                    wanted, flags.spares > 0 ? " without the spares" : ""));
  }
  check_choice(plan, flags, "-a auto");
  check_tuning(flags.observe, plan.network.front());
  check_map(flags.map, plan.network.front());
  check_spares(plan, flags);
  return plan;
}

}  // namespace multitree::tools
