// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree schedule`: generates, verifies and reports schedules, and writes them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/report.hpp"
#include "algorithms/verify.hpp"
#include "tools/all_to_all.hpp"
#include "tools/command.hpp"
#include "tools/large.hpp"
#include "tools/progress.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

constexpr const char* kDefaultAlgorithm = "multitree";

struct ScheduleFlags {
  NetworkFlags network;
  std::optional<std::string> algorithms;
  std::string collective = "allreduce";
  std::uint32_t root = 0;
  std::string size = "64MiB", overhead = to_string(kMessageOverhead);
  std::string output;
  std::string demand;
  std::optional<std::uint32_t> rank;
  bool json = false;
};

std::string algorithms_of(const ScheduleFlags& flags) {
  return flags.algorithms.value_or(kDefaultAlgorithm);
}

/// A schedule with all that is said about it.
struct Result {
  Schedule schedule;
  ScheduleReport report;
  TimeCertificate least;  ///< of any schedule, at the size asked for
  double generation_seconds = 0;
};

Result generate(const std::string& algorithm, const Topology& topology, const Bounds& bounds,
                const Certificate& certificate, const ScheduleFlags& flags, Progress& progress) {
  Result result;
  progress.update(fmt::format("generating {} on {}", algorithm, topology.name()));
  const Collective collective = certificate.collective;
  const Rank root = certificate.root;
  const std::uint64_t bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  const CostModel cost{for_flag("--message-overhead", [&] { return parse_time(flags.overhead); })};
  const double start = cpu_seconds();
  result.schedule = for_flag("--algorithm", [&] {
    return generate_schedule(told(algorithm, bytes, cost.message_overhead), topology, collective,
                             root);
  });
  result.generation_seconds = cpu_seconds() - start;
  progress.update(fmt::format("verifying {} on {}", algorithm, topology.name()));
  const VerifyReport report = verify(result.schedule, topology);
  if (!report.ok()) {
    throw std::logic_error(fmt::format("{} on {} made a schedule that does not verify: {}",
                                       algorithm, topology.name(),
                                       report.violations.front().message));
  }
  result.report = make_report(result.schedule, topology, bounds, certificate, bytes, cost);
  result.least = LeastTime(topology, certificate, cost.message_overhead).at(bytes);
  return result;
}

ordered_json to_json(const Result& result, const Topology& topology, const Certified& certified) {
  const ScheduleReport& report = result.report;
  return {{"topology", topology.name()},
          {"algorithm", result.schedule.algorithm},
          {"collective", to_string(result.schedule.collective)},
          {"ranks", report.ranks},
          {"chunks", report.chunks},
          {"transfers", report.transfers},
          {"steps", report.steps},
          {"bound_steps", report.bound_steps},
          {"total_steps", report.total_steps},
          {"bound_total_steps", report.bound_total_steps},
          {"bound_ratio", report.bound_ratio},
          {"bound_model", certificate_model(topology)},
          {"bound_shards", report.bound.str()},
          {"bound_is_optimum", certified.exact},
          {"load_shards", report.load.str()},
          {"load_is_optimal", report.load == report.bound},
          {"step_fraction", report.step_fraction},
          {"depth", report.depth},
          {"mean_hops", report.mean_hops},
          {"contention_free", report.contention_free},
          {"verified", true},
          {"bytes", report.bytes},
          {"predicted_seconds", report.predicted_seconds},
          {"bound_seconds", report.bound_seconds},
          {"two_phase_bound_seconds", report.two_phase_bound_seconds},
          {"least_seconds", result.least.bound.seconds()},
          {"least_by", to_string(result.least.reason)},
          {"generation_seconds", result.generation_seconds}};
}

std::string to_table(const std::vector<Result>& results, const Topology& topology) {
  std::vector<std::vector<std::string>> rows = {{"algorithm", "steps", "bound", "total", "ratio",
                                                 "chunks", "depth", "predicted", "least",
                                                 "over least", "generated"}};
  const auto microseconds = [](double seconds) { return fmt::format("{:.1f}us", seconds * 1e6); };
  for (const Result& result : results) {
    const ScheduleReport& r = result.report;
    const double least = result.least.bound.seconds();
    rows.push_back(
        {result.schedule.algorithm, fmt::format("{}", r.steps), fmt::format("{}", r.bound_steps),
         fmt::format("{}", r.total_steps), fmt::format("{:.3f}", r.bound_ratio),
         fmt::format("{}", r.chunks), fmt::format("{}", r.depth), microseconds(r.predicted_seconds),
         microseconds(least), least > 0 ? fmt::format("{:.3f}", r.predicted_seconds / least) : "-",
         fmt::format("{:.3f}s", result.generation_seconds)});
  }
  const Result& first = results.front();
  return fmt::format("# {} on {}, {} ranks, {}; verified, contention-free in every step\n",
                     to_string(first.schedule.collective), topology.name(), first.report.ranks,
                     format_bytes(first.report.bytes)) +
         format_table(rows);
}

int run_all_to_all(const ScheduleFlags& flags) {
  if (flags.algorithms) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--algorithm: expected none, as alltoall is routed without one, got {}",
                            *flags.algorithms));
  }
  return all_to_all_schedules({.network = flags.network,
                               .demand = flags.demand,
                               .size = flags.size,
                               .overhead = flags.overhead,
                               .output = flags.output,
                               .json = flags.json});
}

/// Whether one rank can stand for all, if they are alike.
bool is_of_all(const ScheduleFlags& flags) {
  const bool one_algorithm =
      !flags.algorithms || (flags.algorithms->find(',') == std::string::npos &&
                            !flags.algorithms->empty() && asks_for_one_rank(*flags.algorithms));
  const Collective collective = parse_collective(flags.collective);
  return one_algorithm && flags.output.empty() && !has_root(collective);
}

/// \throws Error(InvalidArgument): there is no such rank, or it is asked for in another form
void check_rank(const ScheduleFlags& flags, std::uint32_t ranks) {
  check_below("--rank", flags.rank, ranks);
  if (!flags.rank || (!flags.json && flags.output.empty())) return;
  throw Error(ErrorCode::InvalidArgument,
              "--rank: expected no --json and no --output, for it prints rows");
}

/// Many ranks that are alike.
int run_alike(const ScheduleFlags& flags, const LoadedNetwork& network) {
  const std::string algorithm = flags.algorithms.value_or("symmetric");
  const Collective collective = parse_collective(flags.collective);
  const std::uint64_t bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  const Time overhead = for_flag("--message-overhead", [&] { return parse_time(flags.overhead); });
  check_rank(flags, network.alike->graph.size());
  Progress progress("growing the trees of " + network.name);
  const double start = cpu_seconds();
  AlikeCandidate candidate =
      one_rank_schedule(*network.alike, algorithm, collective, bytes, overhead);
  const double seconds = cpu_seconds() - start;
  progress.update("pricing the trees of " + network.name);
  if (!flags.rank) {
    return print_report(network, collective, candidate, bytes, overhead, flags.json, seconds);
  }
  if (const BoxedSchedule* const boxed = candidate.boxed()) {
    print_rows(*boxed, *flags.rank);
  } else if (const SymmetricSchedule* const trees = candidate.trees()) {
    print_rows(*trees, flags.rank, std::nullopt);
  }
  return kOk;
}

/// One rank of any schedule.
int print_rank(const ScheduleFlags& flags, const Topology& topology) {
  check_rank(flags, topology.num_ranks());
  const std::uint64_t bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  const Time overhead = for_flag("--message-overhead", [&] { return parse_time(flags.overhead); });
  const Progress progress("generating " + algorithms_of(flags) + " on " + topology.name());
  const Schedule schedule = for_flag("--algorithm", [&] {
    return make_schedule(told(algorithms_of(flags), bytes, overhead), topology,
                         parse_collective(flags.collective), check_root(flags.root, topology));
  });
  print_rows(schedule, Rank{*flags.rank});
  return kOk;
}

int run(const ScheduleFlags& flags) {
  if (for_flag("--collective", [&] { return parse_collective(flags.collective); }) ==
      Collective::AllToAll) {
    return run_all_to_all(flags);
  }
  if (!flags.demand.empty()) check_no_demand(flags.collective);
  LoadedNetwork network = load_large(flags.network, is_of_all(flags) ? kManyRanks : kNoRanks);
  if (network.alike) return run_alike(flags, network);
  const Topology topology = whole_network(std::move(*network.topology));
  if (flags.rank) return print_rank(flags, topology);
  const std::vector<std::string> names = algorithm_list(algorithms_of(flags), topology);
  if (names.size() > 1 && !flags.output.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--output: expected one algorithm to write, got {}", names.size()));
  }
  if (!flags.output.empty()) check_writable(flags.output);
  // Standard output carries the schedule, unless that goes elsewhere or the report is asked for.
  const bool to_stdout =
      flags.output == "-" || (flags.output.empty() && !flags.json && names.size() == 1);
  const Collective collective =
      for_flag("--collective", [&] { return parse_collective(flags.collective); });
  const Rank root = check_root(flags.root, topology);
  Certified certified;
  std::vector<Result> results;
  {
    Progress progress("computing exact bounds of " + topology.name());
    const Bounds bounds = compute_bounds(topology);
    certified = certify(topology, bounds, collective, root);
    for (const std::string& name : names) {
      results.push_back(generate(name, topology, bounds, certified.certificate, flags, progress));
    }
    if (to_stdout || !flags.output.empty()) {
      progress.update("writing the schedule");
      write_file(to_stdout ? "-" : flags.output,
                 write_schedule_json(results.front().schedule, topology, &certified.certificate));
    }
  }
  if (flags.json) {
    ordered_json json = to_json(results.front(), topology, certified);
    if (results.size() > 1) {
      json = ordered_json::array();
      for (const Result& result : results) json.push_back(to_json(result, topology, certified));
    }
    to_stdout ? print_error(json.dump(2) + "\n") : print_json(json);
  } else {
    const std::string table = to_table(results, topology);
    to_stdout ? print_error(table) : print(table);
  }
  return kOk;
}

}  // namespace

Command add_schedule_command(CLI::App& parent) {
  auto flags = std::make_shared<ScheduleFlags>();
  CLI::App* app = parent.add_subcommand(
      "schedule", "Generate a schedule, verify it, and compare it with the network's bounds");
  add_network_flags(*app, flags->network)->required();
  app->add_option("-a,--algorithm", flags->algorithms,
                  "One of 'multitree list algorithms', or several separated by commas to compare "
                  "(default: multitree; symmetric from 4096 ranks on that are all alike)");
  add_collective_flags(*app, flags->collective, flags->root);
  app->add_option("--size", flags->size,
                  "Buffer size for the predicted time, and for algorithms that choose by it")
      ->capture_default_str();
  add_demand_flag(*app, flags->demand);
  app->add_option("--message-overhead", flags->overhead,
                  "Time that each message occupies its sender (LogP's o)")
      ->capture_default_str();
  app->add_option(
      "-o,--output", flags->output,
      "Write the schedule here ('-': standard output, which is also the default unless --json, "
      "--rank or several algorithms are given, or there are 4096 ranks that are all alike)");
  app->add_option("--rank", flags->rank, "Print what this rank sends and receives, and no more")
      ->check(number_from(0));
  app->add_flag("--json", flags->json, "Print the report as JSON");
  app->footer("Example: multitree schedule -t torus:8x8 -a multitree,ring,ring2d");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
