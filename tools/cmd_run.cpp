// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree run`: executes schedules on real buffers, one process a rank, and times and checks
/// them.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/report.hpp"
#include "algorithms/tuning/choose.hpp"
#include "algorithms/verify.hpp"
#include "runtime/launcher.hpp"
#include "runtime/tuning.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "tools/run/benchmark.hpp"
#include "tools/run/child_arguments.hpp"
#include "tools/run/observe_flags.hpp"
#include "tools/run/links.hpp"
#include "tools/run/table.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

using runtime::Bootstrap;

struct Flags {
  NetworkFlags network;
  std::string algorithms = "multitree", schedule;
  std::string first = "1K", last = "64M", increment = "0", factor = "4";
  std::string types = "float", ops = "sum";
  std::string check_or_collective, collective = "allreduce", check = "1";
  std::string on_failure = "stop";
  std::string transport = "ucx", data = "exact", segment = "256K", json_file;
  std::uint32_t processes = 0, iterations = 0, warmup = 5, root = 0;
  std::uint64_t seed = 1;
  ObserveFlags observe;
  double timeout = 30, link_timeout = 5, check_links = 0;
  bool json = false, digest = false, checksums = false, shared_buffers = false;
};

/// Among the algorithms: no schedule, the memory of one host.
constexpr std::string_view kHost = "host";
/// Among them: schedules by size, chosen when the processes are there.
constexpr std::string_view kAuto = "auto";
constexpr std::uint32_t kDefaultIterations = 20;

/// What is going to be run: known in full before any process is started.
struct Plan {
  std::vector<Topology> network;  ///< one
  std::uint32_t ranks = 0;
  std::vector<SizedSchedules> schedules;
  std::vector<AlgorithmRun> runs;      // without rows
  std::vector<std::size_t> automatic;  ///< runs whose schedules are still to be chosen
  BenchmarkOptions options;
};

OnFailure on_failure_of(const Flags& flags) {
  const std::string& wanted = flags.on_failure;
  return {.shrink = wanted != "stop" && wanted != "replan",
          .replan = wanted != "stop" && wanted != "shrink"};
}

/// Beside the table, which may be read by a program: where there is none, to standard error.
void print_note(const std::string& text, bool json) {
  if (json) {
    fmt::print(stderr, "{}", text);
  } else {
    print(text);
  }
}

/// -c is nccl-tests' check (0 or 1) or, as in the other commands, a collective.
void resolve_check_or_collective(Flags& flags) {
  const std::string& value = flags.check_or_collective;
  if (value.empty()) return;
  const bool is_number = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  (is_number ? flags.check : flags.collective) = value;
}

template <typename T, typename Parse>
std::vector<T> parse_list(std::string_view flag, const std::string& text, std::span<const T> all,
                          const Parse& parse) {
  if (text == "all") return {all.begin(), all.end()};
  std::vector<T> values;
  for (const std::string& item : for_flag(flag, [&] { return split_list(text); })) {
    values.push_back(for_flag(flag, [&] { return parse(item); }));
  }
  return values;
}

std::uint64_t parse_factor(const std::string& text) {
  if (text.empty() || text.size() > 6 ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("-f: expected a factor from 2 to 999999, got '{}'", text));
  }
  return std::stoull(text);
}

BenchmarkOptions benchmark_options(const Flags& flags) {
  BenchmarkOptions options;
  options.collective =
      for_flag(flags.collective == flags.check_or_collective ? "-c" : "--collective",
               [&] { return parse_collective(flags.collective); });
  const SizeRange range{for_flag("-b", [&] { return parse_bytes(flags.first); }),
                        for_flag("-e", [&] { return parse_bytes(flags.last); }),
                        for_flag("-i", [&] { return parse_bytes(flags.increment); }),
                        parse_factor(flags.factor)};
  options.sizes = sizes_of(range);
  options.types =
      parse_list<runtime::DataType>("-d", flags.types, runtime::all_data_types(),
                                    [](const auto& t) { return runtime::parse_data_type(t); });
  options.ops =
      parse_list<runtime::ReduceOp>("-o", flags.ops, runtime::all_reduce_ops(),
                                    [](const auto& t) { return runtime::parse_reduce_op(t); });
  if (!reduces(options.collective)) options.ops.resize(1);
  if (flags.check != "0" && flags.check != "1") {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("-c: expected 0, 1 or a collective, got '{}'", flags.check));
  }
  options.check = flags.check == "1";
  options.iterations = flags.iterations > 0 ? flags.iterations : kDefaultIterations;
  options.warmup = flags.warmup;
  options.root = Rank{flags.root};
  options.data = flags.data == "random" ? DataKind::Random : DataKind::Exact;
  options.seed = flags.seed;
  options.shared_buffers = flags.shared_buffers;
  options.communicator.transport = flags.transport;
  options.communicator.checksums = flags.checksums;
  options.communicator.timeout = runtime::Deadline(static_cast<std::int64_t>(flags.timeout * 1000));
  options.communicator.link_timeout =
      runtime::Deadline(static_cast<std::int64_t>(flags.link_timeout * 1000));
  options.communicator.segment_bytes =
      for_flag("--segment", [&] { return parse_bytes(flags.segment); });
  if (options.communicator.segment_bytes == 0) {
    throw Error(ErrorCode::InvalidArgument, "--segment: expected a size of 1 or more, got 0");
  }
  return options;
}

/// Processes to start where no topology says it: --np, the job's size, or -n.
std::uint32_t free_rank_count(const Flags& flags, std::uint32_t job_size) {
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

/// What run `i` runs, verified.
void set_run(Plan& plan, std::size_t i, SizedSchedules schedules, const Bounds& bounds,
             const Certificate& certificate) {
  const Topology& topology = plan.network.front();
  for (const SizedSchedule& sized : schedules) {
    const VerifyReport report = verify(sized.schedule, topology);
    if (!report.ok()) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("schedule {} does not verify: {}", sized.schedule.algorithm,
                              report.violations.front().message));
    }
  }
  const std::uint64_t last = plan.options.sizes.back();
  plan.runs[i].algorithm = name_of(schedules);
  plan.runs[i].report =
      make_report(schedule_for(schedules, last), topology, bounds, certificate, last);
  plan.schedules[i] = std::move(schedules);
}

/// One more run, of which nothing but a name is known. \returns its number
std::size_t add_run(Plan& plan, const std::string& name) {
  plan.runs.push_back({name, plan.network.front().name(), std::nullopt, {}});
  plan.schedules.emplace_back();
  return plan.runs.size() - 1;
}

Plan make_plan(const Flags& flags, std::uint32_t job_size) {
  Plan plan;
  plan.options = benchmark_options(flags);
  if (!flags.schedule.empty()) {
    PlanFile file = load_plan(flags.schedule);
    const Schedule& first = file.schedules.front().schedule;
    plan.options.collective = first.collective;
    plan.options.root = first.root;
    plan.network.push_back(file.topology);
    plan.ranks = first.ranks;
    const Bounds bounds = compute_bounds(file.topology);
    const Certified certified = certify(file.topology, bounds, first.collective, first.root);
    set_run(plan, add_run(plan, {}), std::move(file.schedules), bounds, certified.certificate);
  } else {
    NetworkFlags network = flags.network;
    if (network.topology.empty()) {
      network.topology = fmt::format("full:{}", free_rank_count(flags, job_size));
    }
    const Topology topology = load_network(network);
    plan.network.push_back(topology);
    plan.ranks = topology.num_ranks();
    check_root(index(plan.options.root), topology);
    const Bounds bounds = compute_bounds(topology);
    const Certified certified =
        certify(topology, bounds, plan.options.collective, plan.options.root);
    for (const std::string& name :
         for_flag("--algorithm", [&] { return split_list(flags.algorithms); })) {
      const std::size_t run = add_run(plan, name);
      if (name == kAuto) plan.automatic.push_back(run);
      if (name == kHost || name == kAuto) continue;
      SizedSchedules schedules = for_flag("--algorithm", [&] {
        return choose_schedules(name, topology, plan.options.collective, plan.options.root);
      });
      set_run(plan, run, std::move(schedules), bounds, certified.certificate);
    }
  }
  const std::uint32_t wanted = job_size > 0 ? job_size : flags.processes;
  if (wanted > 0 && wanted != plan.ranks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: expected {} processes, one for each rank of {}, got {}",
                            job_size > 0 ? "the job" : "--np", plan.ranks,
                            plan.network.front().name(), wanted));
  }
  check_tuning(flags.observe, plan.network.front());
  return plan;
}

/// Collective. `times`: of the links; null: those of the topology.
void choose_automatic(Plan& plan, Bootstrap& job, const LinkTable* times) {
  if (plan.automatic.empty()) return;
  const Topology& topology = plan.network.front();
  const BenchmarkOptions& options = plan.options;
  const SizedSchedules chosen = for_flag("--algorithm", [&] {
    return runtime::choose_together(
        job, topology, options.collective, options.root,
        {.first = options.sizes.front(), .last = options.sizes.back(), .links = times},
        options.communicator.timeout);
  });
  const Bounds bounds = compute_bounds(topology);
  const Certified certified = certify(topology, bounds, options.collective, options.root);
  for (const std::size_t run : plan.automatic) {
    set_run(plan, run, chosen, bounds, certified.certificate);
  }
}

/// One rank's part. Rank 0 prints. Returns the exit code.
int run_crew(Plan& plan, Crew& crew, const Flags& flags) {
  const LinkTimes times = link_times(flags.observe, !plan.automatic.empty());
  const auto table = find_link_times(flags.observe, times, *crew.job(), plan.network.front(),
                                     plan.options.communicator);
  choose_automatic(plan, *crew.job(), table ? &*table : nullptr);
  const auto prints = [&] { return crew.job()->rank() == 0; };
  const auto on_loss = [&] { print_note(crew.words(), flags.json); };
  const bool writes_json = flags.json || !flags.json_file.empty();
  Observer observer(observer_options(flags.observe, writes_json, table ? &*table : nullptr));
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < plan.schedules.size(); ++i) {
    AlgorithmRun& run = plan.runs[i];
    const TableColumns columns =
        table_columns(flags.observe, flags.digest, plan.schedules[i].size() > 1);
    if (prints() && !flags.json) print(table_header(run, plan.options, columns));
    const auto on_row = [&](const Row& row, const RowDetails& details) {
      run.details.push_back(details);
      if (!flags.json) print(table_row(row, details, plan.options, columns));
    };
    run.rows = run_benchmark(plan.schedules[i], crew, plan.options, observer, on_row, on_loss);
    if (prints() && !flags.json) print(table_footer(run));
    wrong += run.wrong();
  }
  if (prints()) {
    auto json = run_json(plan.runs, plan.options, plan.ranks, crew.job()->describe());
    json["config"]["link_times"] = to_string(times);
    if (const auto lost = crew.lost(); !lost.empty()) json["lost_ranks"] = lost;
    for (const auto& [a, b] : crew.dead_links()) json["lost_links"].push_back({a, b});
    if (flags.json) print_json(json);
    if (!flags.json_file.empty()) write_file(flags.json_file, json.dump(2) + "\n");
    if (!flags.json && plan.runs.size() > 1) print(summary_table(plan.runs));
    write_files(flags.observe, observer);
  }
  return wrong == 0 ? kOk : kNegativeAnswer;
}

int run_rank(Plan plan, const std::shared_ptr<Bootstrap>& bootstrap, const Flags& flags) {
  if (flags.check_links > 0) {
    return report_links(bootstrap, plan.network.front(), plan.options.communicator,
                        flags.check_links);
  }
  Crew crew(bootstrap, plan.network.front(), on_failure_of(flags));
  try {
    return run_crew(plan, crew, flags);
  } catch (const std::exception& error) {
    // The other ranks are not to wait for this one.
    crew.job()->report_failure(error.what());
    throw;
  }
}

/// All ranks as threads of this process.
int run_threads(const Plan& plan, const Flags& flags) {
  const auto bootstraps = runtime::make_in_process_bootstraps(plan.ranks);
  std::vector<int> codes(plan.ranks, kOk);
  std::mutex mutex;
  std::exception_ptr first_error;  // The others follow from it.
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < plan.ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        codes[r] = run_rank(plan, bootstraps[r], flags);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
  return *std::ranges::max_element(codes);
}

int run(Flags flags) {
  resolve_check_or_collective(flags);
  if (!flags.json_file.empty()) check_writable(flags.json_file);
  check_files(flags.observe);
  if (flags.transport == "loopback") return run_threads(make_plan(flags, 0), flags);
  if (runtime::started_by_launcher()) {
    const auto bootstrap = runtime::make_bootstrap(
        {.deadline = runtime::Deadline(static_cast<std::int64_t>(flags.timeout * 1000))});
    return run_rank(make_plan(flags, bootstrap->size()), bootstrap, flags);
  }
  // Whatever is wrong with the request is found here, once, before any process is started.
  const std::vector<std::string> arguments = child_arguments(flags.schedule);
  if (flags.schedule == "-") flags.schedule = arguments.back();
  Plan plan;
  {
    const Progress progress("preparing the schedules");
    plan = make_plan(flags, 0);
  }
  if (plan.ranks == 1) return run_rank(std::move(plan), runtime::make_bootstrap(), flags);
  const auto grace = plan.options.communicator.timeout + std::chrono::seconds(5);
  return runtime::launch_local(
      plan.ranks, arguments,
      {.grace = grace, .program = {}, .survive_deaths = on_failure_of(flags).shrink});
}

std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc{} && rest == end && seconds >= 0.001 && seconds <= 1e6) return {};
  return fmt::format("expected seconds from 0.001 to 1000000, got '{}'", text);
}

std::string check_seconds_or_0(const std::string& text) {
  const std::string error = check_seconds(text);
  return error.empty() || text == "0" ? std::string() : "expected 0 or" + error.substr(8);
}

void add_job_flags(CLI::App& app, Flags& flags) {
  auto* schedule = app.add_option("-s,--schedule", flags.schedule,
                                  "Run this schedule or plan file ('-': standard input)")
                       ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_network_flags(app, flags.network)->excludes(schedule);
  app.add_option("-a,--algorithm", flags.algorithms,
                 "One or several, separated by commas; host: no messages, the memory of one host")
      ->capture_default_str()
      ->excludes(schedule);
  app.add_option("--np", flags.processes,
                 "Processes to start (as many as the topology has ranks; without a "
                 "topology: on full:NP)")
      ->check(number_from(1));
  app.add_option("--transport", flags.transport, "ucx, or loopback (threads of one process)")
      ->check(one_of({"ucx", "loopback"}))
      ->capture_default_str();
  app.add_option("-T,--timeout", flags.timeout, "Longest wait without any progress, in seconds")
      ->check(CLI::Validator(check_seconds, "", "seconds"))
      ->capture_default_str();
  app.add_flag("--checksums", flags.checksums, "Check every message on arrival");
  app.add_option("--link-timeout", flags.link_timeout,
                 "Silence after which a link is dead, in seconds; 0: none is")
      ->check(CLI::Validator(check_seconds_or_0, "", "seconds"))
      ->capture_default_str();
  app.add_option("--check-links", flags.check_links,
                 "Measure links only; name those that take so many times what is declared")
      ->check(number_from(1));
  app.add_option("--on-failure", flags.on_failure,
                 "When a rank or a link dies or falls silent: stop, shrink (go on without ranks), "
                 "replan (around links), or go-on (both)")
      ->check(one_of({"stop", "shrink", "replan", "go-on"}))
      ->capture_default_str();
  app.add_option("--segment", flags.segment, "Largest message; larger chunks are pipelined")
      ->capture_default_str();
}

void add_benchmark_flags(CLI::App& app, Flags& flags) {
  app.add_option("-b,--minbytes", flags.first, "First size")->capture_default_str();
  app.add_option("-e,--maxbytes", flags.last, "Last size")->capture_default_str();
  app.add_option("-i,--stepbytes", flags.increment, "Add this from size to size, instead of -f");
  app.add_option("-f,--stepfactor", flags.factor, "Multiply by this from size to size")
      ->capture_default_str();
  app.add_option(
         "-n,--iters", flags.iterations,
         "Iterations a size, as in nccl-tests (20); without a topology, schedule and --np also the "
         "processes to start")
      ->check(number_from(1));
  app.add_option("-w,--warmup_iters", flags.warmup, "Warm-up iterations a size")
      ->check(number_from(0))
      ->capture_default_str();
  app.add_option("-d,--datatype", flags.types, "Types ('multitree list types'), or all")
      ->capture_default_str();
  app.add_option("-o,--op", flags.ops, "Operators ('multitree list operators'), or all")
      ->capture_default_str();
  app.add_option("-c", flags.check_or_collective,
                 "0 or 1: whether to check results, as in nccl-tests; or a collective");
  app.add_option("--check", flags.check, "0 or 1: whether to check results")
      ->check(one_of({"0", "1"}))
      ->capture_default_str();
  app.add_option("--collective", flags.collective,
                 "allreduce, reduce-scatter, allgather, broadcast or reduce")
      ->capture_default_str();
  app.add_option("-r,--root", flags.root, "Root rank of broadcast and reduce")
      ->check(number_from(0))
      ->capture_default_str();
  app.add_option("--data", flags.data, "exact: sums are exact in any order; random: they are not")
      ->check(one_of({"exact", "random"}))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the input data")
      ->check(number_from(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  app.add_flag("--shared-buffers", flags.shared_buffers,
               "Buffers that all ranks of one host map: Communicator::allocate()");
  app.add_flag("--digest", flags.digest, "Print a digest of all ranks' results in each row");
  app.add_flag("--json", flags.json, "Print JSON (keys as in nccl-tests) instead of the table");
  app.add_option("-J,--output_file", flags.json_file, "Write the JSON to this file as well");
}

}  // namespace

Command add_run_command(CLI::App& parent) {
  auto flags = std::make_shared<Flags>();
  CLI::App* app = parent.add_subcommand(
      "run", "Run collectives on real buffers: time them and check every result");
  add_job_flags(*app, *flags);
  add_benchmark_flags(*app, *flags);
  add_observe_flags(*app, flags->observe);
  app->footer(
      "Starts its processes by itself; under mpirun, srun or torchrun it joins the job instead.\n"
      "Example: multitree run -t torus:2x2 -a multitree,ring -b 1K -e 1M -f 4");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
