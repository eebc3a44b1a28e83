// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree tune`: finds the fastest schedule for every size, and writes them as a plan.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/tuning/reason.hpp"
#include "algorithms/tuning/tune.hpp"
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

struct TuneFlags {
  NetworkFlags network;
  std::string algorithms;
  std::string collective = "allreduce";
  std::uint32_t root = 0;
  std::string first = "8", last = "1G", overhead = to_string(kMessageOverhead);
  std::string output;
  bool all = false, why = false, json = false;
};

double microseconds(Time time) { return time.seconds() * 1e6; }

double busbw(std::uint64_t bytes, Time time, const Schedule& schedule) {
  if (time.picoseconds == 0) return 0;
  return static_cast<double>(bytes) / time.seconds() / 1e9 *
         busbw_factor(schedule.collective, schedule.ranks);
}

/// Up to so many nodes the bandwidth bound is exact by a linear program, which may take longer than
/// all the rest beyond.
constexpr std::uint32_t kProgramNodes = 32;

LeastTime least_time_of(const Topology& topology, Collective collective, Rank root,
                        const CostModel& cost) {
  const Bounds bounds = compute_bounds(topology);
  return {topology, certify(topology, bounds, collective, root, kProgramNodes).certificate,
          cost.message_overhead};
}

/// A time over the least that is proved.
std::string over_least(Time time, std::uint64_t bytes, const LeastTime& least) {
  const double seconds = least.seconds(bytes);
  return seconds > 0 ? fmt::format("{:.3f}", time.seconds() / seconds) : "-";
}

/// The crossover table: who is fastest from which size to which.
std::string crossover_table(const TuneResult& result, const LeastTime& least) {
  std::vector<std::vector<std::string>> rows = {{"algorithm", "from", "to", "time(from)",
                                                 "time(to)", "over least(from)", "over least(to)",
                                                 "busbw(to)", "steps", "transfers"}};
  for (const TunedRange& range : result.ranges) {
    const Schedule& schedule = result.candidates[range.candidate].schedule;
    rows.push_back(
        {result.candidates[range.candidate].spec, format_bytes(range.from), format_bytes(range.to),
         fmt::format("{:.3f}us", microseconds(range.time_from)),
         fmt::format("{:.3f}us", microseconds(range.time_to)),
         over_least(range.time_from, range.from, least), over_least(range.time_to, range.to, least),
         fmt::format("{:.2f}", busbw(range.to, range.time_to, schedule)),
         fmt::format("{}", schedule.num_steps()), fmt::format("{}", schedule.transfers.size())});
  }
  return format_table(rows);
}

/// Every candidate at every size compared, in microseconds.
std::string comparison_table(const TuneResult& result) {
  std::vector<std::vector<std::string>> rows(1, {"us"});
  for (const std::uint64_t size : result.sizes) rows[0].push_back(format_bytes(size));
  for (const TuneCandidate& candidate : result.candidates) {
    if (!candidate.unsupported.empty()) continue;
    auto& row = rows.emplace_back(1, candidate.spec);
    for (const Time time : candidate.times)
      row.push_back(fmt::format("{:.2f}", microseconds(time)));
  }
  return format_table(rows);
}

/// For every size compared, what the choice is due to.
std::string reason_table(const TuneResult& result, const std::vector<Reason>& reasons,
                         const LeastTime& least) {
  std::vector<std::vector<std::string>> rows = {{"size", "algorithm", "time", "over least",
                                                 "proved by", "decided by", "bytes", "messages",
                                                 "latency", "next", "slower"}};
  const auto percent = [](double part) { return fmt::format("{:.0f}%", part * 100); };
  for (const Reason& reason : reasons) {
    const double time = std::max(reason.time.seconds(), 1e-15);
    rows.push_back({format_bytes(reason.bytes), result.candidates[reason.candidate].spec,
                    fmt::format("{:.2f}us", microseconds(reason.time)),
                    over_least(reason.time, reason.bytes, least),
                    std::string(to_string(least.at(reason.bytes).reason)),
                    std::string(reason.decides()), percent(reason.bytes_part),
                    percent(reason.messages_part), percent(reason.latency_part),
                    reason.next ? result.candidates[*reason.next].spec : "-",
                    reason.next ? fmt::format("{:.2f}x", reason.next_time.seconds() / time) : "-"});
  }
  return format_table(rows);
}

ordered_json to_json(const TuneResult& result, const Topology& topology, Collective collective,
                     const LeastTime& least) {
  ordered_json ranges = ordered_json::array(), candidates = ordered_json::array();
  ordered_json proved = ordered_json::array();
  for (const std::uint64_t size : result.sizes) proved.push_back(least.seconds(size));
  for (const TunedRange& range : result.ranges) {
    ranges.push_back({{"from", range.from},
                      {"to", range.to},
                      {"algorithm", result.candidates[range.candidate].spec},
                      {"seconds_from", range.time_from.seconds()},
                      {"seconds_to", range.time_to.seconds()},
                      {"least_seconds_from", least.seconds(range.from)},
                      {"least_seconds_to", least.seconds(range.to)}});
  }
  for (const TuneCandidate& candidate : result.candidates) {
    ordered_json entry = {{"algorithm", candidate.spec}};
    if (!candidate.unsupported.empty()) {
      entry["unsupported"] = candidate.unsupported;
    } else {
      entry["seconds"] = ordered_json::array();
      for (const Time time : candidate.times) entry["seconds"].push_back(time.seconds());
    }
    candidates.push_back(std::move(entry));
  }
  return {{"topology", topology.name()},
          {"collective", to_string(collective)},
          {"ranks", topology.num_ranks()},
          {"model", "alpha-beta links with contention, predicted"},
          {"ranges", std::move(ranges)},
          {"sizes", result.sizes},
          {"least_seconds", std::move(proved)},
          {"candidates", std::move(candidates)}};
}

/// The sizes and the cost of a message.
template <class Options>
Time read_sizes(const TuneFlags& flags, Options& options) {
  options.first = for_flag("-b", [&] { return parse_bytes(flags.first); });
  options.last = for_flag("-e", [&] { return parse_bytes(flags.last); });
  if (options.first > options.last) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("-b: expected a first size up to that of -e, {}, got {}",
                            format_bytes(options.last), format_bytes(options.first)));
  }
  return for_flag("--message-overhead", [&] { return parse_time(flags.overhead); });
}

TuneOptions tune_options(const TuneFlags& flags, const Topology& topology) {
  TuneOptions options;
  options.cost.message_overhead = read_sizes(flags, options);
  if (!flags.algorithms.empty()) {
    options.algorithms = algorithm_list(flags.algorithms, topology);
  }
  return options;
}

/// The algorithms if one rank can stand for all in each of them, if they are alike; empty: all.
std::optional<std::vector<std::string>> of_one_rank(const TuneFlags& flags, Collective collective) {
  if (!flags.output.empty() || has_root(collective)) return std::nullopt;
  if (flags.algorithms.empty()) return std::vector<std::string>{};
  std::vector<std::string> specs = split_list(flags.algorithms);
  const bool all =
      for_flag("--algorithm", [&] { return std::ranges::all_of(specs, is_of_one_rank); });
  return all ? std::optional(std::move(specs)) : std::nullopt;
}

int run_alike(const TuneFlags& flags, Collective collective, const LoadedNetwork& network,
              std::vector<std::string> specs) {
  check_below("--root", flags.root, network.alike->graph.size());
  AlikeTune wanted{.collective = collective,
                   .options = {},
                   .all = flags.all,
                   .why = flags.why,
                   .json = flags.json};
  wanted.options.message_overhead = read_sizes(flags, wanted.options);
  wanted.options.algorithms = std::move(specs);
  wanted.options.all_times = flags.all || flags.why || flags.json;
  const Progress progress("comparing algorithms on " + network.name);
  return for_flag("--algorithm", [&] { return print_tuned(network, wanted); });
}

int run(const TuneFlags& flags) {
  if (!flags.output.empty()) check_writable(flags.output);
  const Collective collective =
      for_flag("--collective", [&] { return parse_collective(flags.collective); });
  check_along_trees(collective, "--collective");
  const auto specs = of_one_rank(flags, collective);
  LoadedNetwork network = load_large(flags.network, specs ? kManyRanks : kNoRanks);
  if (network.alike) return run_alike(flags, collective, network, *specs);
  const Topology topology = whole_network(std::move(*network.topology));
  const Rank root = check_root(flags.root, topology);
  TuneOptions options = tune_options(flags, topology);
  options.all_times = flags.all || flags.why || flags.json;
  TuneResult result;
  {
    Progress progress("comparing algorithms on " + topology.name());
    options.on_candidate = [&](std::string_view spec, double over) {
      progress.update(fmt::format("generating {} on {}", spec, topology.name()), over);
    };
    result = for_flag("--algorithm", [&] { return tune(topology, collective, root, options); });
    if (!flags.output.empty()) {
      progress.update("writing the plan");
      const Certified certified = certify(topology, collective, root);
      write_file(flags.output, write_plan_json(result.plan(), topology, &certified.certificate));
    }
  }
  const LeastTime least = least_time_of(topology, collective, root, options.cost);
  if (flags.json) {
    const ordered_json json = to_json(result, topology, collective, least);
    flags.output == "-" ? print_error(json.dump(2) + "\n") : print_json(json);
    return kOk;
  }
  std::string text =
      fmt::format("# {} on {}, {} ranks; predicted (alpha-beta, contention); all verified\n",
                  to_string(collective), topology.name(), topology.num_ranks()) +
      crossover_table(result, least);
  if (flags.all) text += "#\n" + comparison_table(result);
  if (flags.why) text += "#\n" + reason_table(result, reasons(result, topology, options), least);
  flags.output == "-" ? print_error(text) : print(text);
  return kOk;
}

}  // namespace

Command add_tune_command(CLI::App& parent) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* app = parent.add_subcommand(
      "tune", "Find the fastest schedule for every size, and write them as a plan");
  add_network_flags(*app, flags->network)->required();
  app->add_option(
      "-a,--algorithm", flags->algorithms,
      "Choose among these, separated by commas (default: all, with their variants; from "
      "4096 ranks on that are all alike, what one of them stands for)");
  add_collective_flags(*app, flags->collective, flags->root);
  app->add_option("-b,--minbytes", flags->first, "Smallest size")->capture_default_str();
  app->add_option("-e,--maxbytes", flags->last, "Largest size; its winner serves larger ones too")
      ->capture_default_str();
  app->add_option("--message-overhead", flags->overhead,
                  "Time that each message occupies its sender (LogP's o)")
      ->capture_default_str();
  app->add_option("-o,--output", flags->output,
                  "Write the plan here, for 'multitree run -s' ('-': standard output)");
  app->add_flag("--all", flags->all, "Also print all candidates at all sizes compared");
  app->add_flag("--why", flags->why,
                "Also print what decides at each size compared, and what comes next");
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer("Example: multitree tune -t torus:4x4 -b 1K -e 64M");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
