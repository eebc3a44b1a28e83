// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree run`: executes schedules on real buffers, one process a rank, and times and checks
/// them.
#include <fmt/format.h>
#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/report.hpp"
#include "algorithms/tuning/choose.hpp"
#include "algorithms/tuning/planner.hpp"
#include "nic/encode/image.hpp"
#include "nic/table/check.hpp"
#include "runtime/device/device.hpp"
#include "runtime/job/launcher.hpp"
#include "runtime/messages/network/cables.hpp"
#include "runtime/tuning.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "tools/run/benchmark.hpp"
#include "tools/run/cause.hpp"
#include "tools/run/flags.hpp"
#include "tools/run/history.hpp"
#include "tools/run/links.hpp"
#include "tools/run/map.hpp"
#include "tools/run/observe_flags.hpp"
#include "tools/run/plan.hpp"
#include "tools/run/processes.hpp"
#include "tools/run/table.hpp"
#include "tools/run/trial.hpp"
#include "topologies/exception_words.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "topologies/thread.hpp"

namespace multitree::tools {
namespace {

using runtime::Bootstrap;

/// Beside the table, which may be read by a program: where there is none, to standard error.
void print_note(const std::string& text, bool json) {
  if (json) {
    fmt::print(stderr, "{}", text);
  } else {
    print(text);
  }
}

/// The runs' schedules beside their bounds, for whoever prints: these take longer than all else
/// before a run on networks of some hundred ranks.
void add_reports(Plan& plan) {
  const Topology& topology = plan.network.front();
  std::optional<Bounds> bounds;
  std::optional<Certified> optimum;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    if (plan.schedules[i].empty() || plan.runs[i].report) continue;
    if (!bounds) {
      bounds = compute_bounds(topology);
      optimum = certify(topology, *bounds, plan.options.collective, plan.options.root);
    }
    const std::uint64_t last = plan.options.sizes.back();
    plan.runs[i].report = make_report(schedule_for(plan.schedules[i], last), topology, *bounds,
                                      optimum->certificate, last);
  }
}

/// Collective: what `auto` runs instead of what is predicted.
SizedSchedules tried(const SizedSchedules& predicted, const Plan& plan, Crew& crew,
                     const RunFlags& flags) {
  const auto sizes = try_all(predicted, plan.network.front(), crew, plan.options, flags.tries);
  if (crew.job()->seat() == runtime::Seat{0}) print_note(trial_words(sizes), flags.json);
  return plan_of(sizes);
}

/// Collective. `times`: of the links; null: those of the topology.
void choose_automatic(Plan& plan, Crew& crew, const LinkTable* times, const RunFlags& flags) {
  check_choice(plan, flags, "-a auto with --no-host-path, as all ranks share a host");
  if (plan.automatic.empty()) return;
  Bootstrap& job = *crew.job();
  const Topology& topology = plan.network.front();
  const BenchmarkOptions& options = plan.options;
  const ChooseOptions how{.first = options.sizes.front(),
                          .last = options.sizes.back(),
                          .links = times,
                          .rivals = flags.refine};
  const std::vector<SizedSpec> specs = for_flag("--algorithm", [&] {
    const auto choose = [&](Collective of) {
      return choose_specs(topology, of, options.root, how);
    };
    return runtime::choose_specs_together(job, {&options.collective, 1}, choose,
                                          options.communicator.timeout)
        .front();
  });
  SizedSchedules chosen = schedules_of(specs, topology, options.collective, options.root);
  if (flags.refine) {
    plan.options.refining = runtime::refining_of({{options.collective, specs}}, topology);
  }
  if (flags.tries > 0) chosen = tried(chosen, plan, crew, flags);
  if (!flags.save_plan.empty() && crew.job()->seat() == runtime::Seat{0}) {
    write_file(flags.save_plan, write_plan_json(chosen, topology, nullptr));
  }
  for (const std::size_t run : plan.automatic) set_run(plan, run, chosen);
}

/// Collective: where ranks share a host, `auto` is its memory, and nothing is left to choose.
void find_host(Plan& plan, Bootstrap& job, const RunFlags& flags) {
  if (plan.automatic.empty() || flags.no_host_path) return;
  if (!runtime::goes_without_messages(job, plan.options.communicator)) return;
  for (const std::size_t run : plan.automatic) plan.runs[run].algorithm = kHost;
  plan.automatic.clear();
}

/// That of a rank. \throws Error(Cuda) if its host has none
std::shared_ptr<const runtime::device::Device> device_of(std::uint32_t rank) {
  std::string why;
  const std::size_t devices = runtime::device::cuda_devices(why).size();
  const auto number = static_cast<std::int32_t>(devices > 0 ? rank % devices : 0);
  auto device = runtime::device::open_cuda(number, why);
  if (device == nullptr) {
    throw Error(ErrorCode::Cuda, fmt::format("--device: expected a GPU of this host: {}", why));
  }
  return device;
}

/// One rank's part. Rank 0 prints. Returns the exit code.
int run_crew(Plan& plan, Crew& crew, History& history, const RunFlags& flags) {
  find_host(plan, *crew.job(), flags);
  const LinkTimes times = link_times(flags.observe, !plan.automatic.empty());
  const auto table = find_link_times(flags.observe, times, *crew.job(), plan.network.front(),
                                     plan.options.communicator);
  choose_automatic(plan, crew, table ? &*table : nullptr, flags);
  const auto prints = [&] { return crew.job()->seat() == runtime::Seat{0}; };
  const auto on_loss = [&] { print_note(crew.words(), flags.json); };
  const bool writes_json = flags.json || !flags.json_file.empty();
  Observer observer(observer_options(flags.observe, writes_json, table ? &*table : nullptr));
  std::uint64_t wrong = 0;
  const std::size_t known = history.begun;  // to those in whose place this one has come
  for (std::size_t i = 0; i < plan.schedules.size(); ++i) {
    // After a loss somebody else may be the one who prints.
    if (prints()) add_reports(plan);
    AlgorithmRun& run = plan.runs[i];
    const TableColumns columns =
        table_columns(flags.observe, flags.digest, plan.schedules[i].size() > 1);
    if (prints() && !flags.json && i >= known) print(table_header(run, plan.options, columns));
    const auto on_row = [&](const Row& row, const RowDetails& details) {
      run.details.push_back(details);
      if (!flags.json) print(table_row(row, details, plan.options, columns));
    };
    BenchmarkOptions options = plan.options;
    options.chosen = std::ranges::find(plan.automatic, i) != plan.automatic.end();
    options.times = table;
    if (!options.chosen) options.refining = nullptr;
    options.on_device = [&](const std::string& path) {
      if (prints()) print_note(fmt::format("# on {}\n", path), flags.json);
    };
    options.on_refined = [&](const std::vector<runtime::Refined>& refined) {
      for (const runtime::Refined& one : refined) {
        if (prints()) print_note("# " + one.words() + "\n", flags.json);
      }
    };
    run.rows =
        run_benchmark(plan.schedules[i], crew, options, observer, history, i, on_row, on_loss);
    if (prints() && !flags.json && i + 1 >= known) print(table_footer(run));
    wrong += run.wrong();
  }
  if (prints()) {
    add_reports(plan);
    auto json = run_json(plan.runs, plan.options, plan.ranks, crew.job()->describe());
    json["config"]["link_times"] = to_string(times);
    if (!plan.hosts.empty()) json["config"]["hosts"] = plan.hosts;
    const Survivors& left = crew.survivors();
    if (const auto lost = left.lost(); !lost.empty()) json["lost_ranks"] = lost;
    for (const auto& [a, b] : left.dead_links()) json["lost_links"].push_back({a, b});
    for (const auto& [spare, rank] : crew.taken()) {
      json["spares"].push_back({{"spare", spare}, {"rank", rank}});
    }
    if (flags.json) print_json(json);
    if (!flags.json_file.empty()) write_file(flags.json_file, json.dump(2) + "\n");
    if (!flags.json && plan.runs.size() > 1) print(summary_table(plan.runs));
    write_observed(flags.observe, observer);
  }
  return wrong == 0 ? kOk : kNegativeAnswer;
}

int run_rank(Plan plan, std::shared_ptr<Bootstrap> job, const RunFlags& flags) {
  if (!flags.map.empty()) {
    Mapped mapped = map_ranks(std::move(job), plan.network.front(), flags.map,
                              plan.options.communicator.timeout);
    job = std::move(mapped.job);
    plan.hosts = std::move(mapped.hosts);
    if (job->seat() == runtime::Seat{0}) print_note(map_words(plan.hosts), flags.json);
  }
  if (flags.check_links > 0) {
    return report_links(job, plan.network.front(), plan.options.communicator, flags.check_links);
  }
  if (flags.device) plan.options.communicator.device = device_of(index(job->seat()));
  const runtime::Deadline timeout = plan.options.communicator.timeout;
  Crew crew = flags.spares > 0 ? Crew(job, plan.network.front(), timeout)
                               : Crew(job, plan.network.front(), on_failure_of(flags));
  History history(plan.schedules.size());
  try {
    const bool waits = crew.is_spare();
    if (waits && !crew.await_place()) return kOk;
    if (waits) join_in(crew, history, timeout);
    if (waits && crew.job()->seat() == runtime::Seat{0}) print_note(crew.words(), flags.json);
    const int code = run_crew(plan, crew, history, flags);
    while (!crew.end(timeout)) join_in(crew, history, timeout);
    return code;
  } catch (const std::exception& error) {
    // The other ranks are not to wait for this one.
    crew.report_failure(plain_words(error));
    throw;
  }
}

/// All ranks as threads of this process.
int run_threads(const Plan& plan, const RunFlags& flags) {
  const auto bootstraps = runtime::make_in_process_bootstraps(plan.ranks);
  std::vector<int> codes(plan.ranks, kOk);
  Cause cause;
  const auto rank = [&](std::size_t r) {
    try {
      codes[r] = run_rank(plan, bootstraps[r], flags);
    } catch (const std::exception& error) {
      cause.note(error);
    }
  };
  in_threads("a rank", plan.ranks, rank, [&](std::size_t r, const std::exception& error) {
    cause.note(error);
    bootstraps[r]->report_failure(plain_words(error));  // the others are not to wait for it
  });
  cause.rethrow_if_any();
  return *std::ranges::max_element(codes);
}

int run(RunFlags flags) {
  resolve_check_or_collective(flags);
  for (const std::string& file : {flags.json_file, flags.save_plan}) {
    if (!file.empty()) check_writable(file);
  }
  check_files(flags.observe);
  const bool follows = flags.schedule.empty() && flags.processes == 0;
  if (follows) follow_cluster(flags.network.topology, flags.map);
  if (flags.transport == "loopback" && !flags.map.empty()) {
    throw Error(ErrorCode::InvalidArgument, "--map: expected processes, got --transport loopback");
  }
  if (flags.transport == "loopback") return run_threads(make_plan(flags, 0), flags);
  if (runtime::started_by_launcher()) {
    const runtime::Deadline deadline(static_cast<std::int64_t>(flags.timeout * 1000));
    const auto bootstrap = runtime::make_bootstrap({.deadline = deadline});
    follow_installed_cluster(*bootstrap, follows, deadline, flags.network.topology, flags.map);
    // By a map, ranks are elsewhere; the networks that have one are of files of clusters.
    const Counted all_cables = [&](const Topology& named) {
      return flags.map.empty() ? runtime::with_all_cables(*bootstrap, named, deadline) : named;
    };
    return run_rank(make_plan(flags, bootstrap->size(), all_cables), bootstrap, flags);
  }
  // Whatever is wrong with the request is found here, once, before any process is started.
  std::vector<std::string> of_children = arguments();
  if (flags.schedule == "-") {
    flags.schedule = keep_standard_input();
    of_children.insert(of_children.end(), {"--schedule", flags.schedule});
  }
  Plan plan;
  {
    const Progress progress("preparing the schedules");
    plan = make_plan(flags, 0);
    check_map_here(flags.map, plan.network.front());
  }
  if (plan.ranks == 1) return run_rank(std::move(plan), runtime::make_bootstrap(), flags);
  const auto grace = plan.options.communicator.timeout + std::chrono::seconds(5);
  return runtime::launch_local(plan.ranks, of_children,
                               {.grace = grace,
                                .program = {},
                                .survive_deaths = on_failure_of(flags).shrink,
                                .spares = flags.spares});
}

}  // namespace

Command add_run_command(CLI::App& parent) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* app = parent.add_subcommand(
      "run", "Run collectives on real buffers: time them and check every result");
  add_run_flags(*app, *flags);
  app->footer(
      "Starts its processes by itself; under mpirun, srun or torchrun it joins the job instead.\n"
      "Example: multitree run -t torus:2x2 -a multitree,ring -b 1K -e 1M -f 4");
  return {app, [flags, app] {
            note_given_flags(*app, *flags);
            return run(*flags);
          }};
}

}  // namespace multitree::tools
