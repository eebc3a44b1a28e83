// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree explain`: how far the times in a log are from what the network allows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "tools/explain/log.hpp"
#include "tools/explain/verdict.hpp"
#include "tools/progress.hpp"
#include "tools/proof.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct ExplainFlags {
  std::string log;
  NetworkFlags network;
  std::string collective;
  std::uint32_t root = 0;
  std::string algorithms;
  bool json = false;
};

/// A run with what it is held against.
struct Explained {
  LoggedRun run;
  Certified certified;
  Verdict verdict;
};

/// Those of the log that this network and --collective are about. \throws Error(InvalidInput).
std::vector<LoggedRun> chosen_runs(const ExplainFlags& flags, const Topology& topology) {
  const std::string name = flags.log == "-" ? "standard input" : flags.log;
  std::vector<LoggedRun> runs = parse_log(read_file(flags.log), name);
  std::optional<Collective> asked;
  if (!flags.collective.empty()) {
    asked = for_flag("--collective", [&] { return parse_collective(flags.collective); });
  }
  std::set<std::uint32_t> counts;
  for (LoggedRun& run : runs) {
    if (!run.collective) run.collective = asked;
    if (!run.collective) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: it does not say which collective was timed: expected "
                              "--collective",
                              name));
    }
    if (run.ranks) counts.insert(*run.ranks);
  }
  std::erase_if(runs, [&](const LoggedRun& run) { return asked && run.collective != asked; });
  if (runs.empty()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: no times of {} in it", name, to_string(*asked)));
  }
  std::erase_if(
      runs, [&](const LoggedRun& run) { return run.ranks && *run.ranks != topology.num_ranks(); });
  if (runs.empty()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: its times are of {} ranks, expected the {} of {}", name,
                            fmt::join(counts, ", "), topology.num_ranks(), topology.name()));
  }
  return runs;
}

/// What is compared: what libraries run, and what comes nearest to the bound.
std::vector<std::string> compared_algorithms(const ExplainFlags& flags, const Topology& topology,
                                             const LoggedRun& run) {
  if (!flags.algorithms.empty()) return algorithm_list(flags.algorithms, topology);
  std::vector<std::string> names = {
      "ring", "double-binary-tree", "halving-doubling", "multitree",
      run.collective == Collective::AllReduce ? "allreduce-optimal" : "forest"};
  std::erase_if(names, [&](const std::string& name) {
    return find_algorithm(name).unsupported(topology).has_value();
  });
  const bool known = std::ranges::any_of(
      algorithms(), [&](const Algorithm& each) { return each.name == run.algorithm; });
  if (known && std::ranges::find(names, run.algorithm) == names.end() && run.algorithm != "auto") {
    names.push_back(run.algorithm);
  }
  return names;
}

/// What an algorithm takes at each size of the run; made anew for each where it asks for the size.
Prediction predict(const std::string& name, const LoggedRun& run, const Topology& topology,
                   Rank root) {
  Prediction prediction{name, {}};
  const CostModel cost{kMessageOverhead};
  std::string made;
  Schedule schedule;
  for (const LoggedTime& time : run.times) {
    const std::uint64_t bytes = buffer_bytes(run, time, topology.num_ranks());
    const std::string spec = told(name, bytes, cost.message_overhead);
    if (spec != made) schedule = make_schedule(spec, topology, *run.collective, root);
    made = spec;
    prediction.seconds.push_back(predict_time(schedule, topology, bytes, cost).seconds());
  }
  return prediction;
}

Explained explain(LoggedRun run, const ExplainFlags& flags, const Topology& topology,
                  Progress& progress) {
  const Rank root = check_root(flags.root, topology);
  progress.update("proving the bound of " + topology.name());
  Certified certified = certify(topology, *run.collective, root);
  std::vector<Prediction> predictions;
  for (const std::string& name : compared_algorithms(flags, topology, run)) {
    progress.update(fmt::format("pricing {} on {}", name, topology.name()));
    predictions.push_back(
        for_flag("--algorithm", [&] { return predict(name, run, topology, root); }));
  }
  Verdict verdict = judge(run, topology, certified.certificate, predictions);
  return {std::move(run), std::move(certified), std::move(verdict)};
}

/// The size whose words are said below the table: of the largest time.
const VerdictRow& last_row(const Verdict& verdict) {
  return *std::ranges::max_element(verdict.rows, {}, &VerdictRow::bytes);
}

/// What would change the time of the largest size.
std::string remedy(const VerdictRow& row, const Explained& all, const Topology& topology) {
  switch (row.limit) {
    case Limit::Network:
      return fmt::format("only more bandwidth of {} would help",
                         limiting_links(all.certified.certificate, topology));
    case Limit::Latency:
      return "fewer or larger calls, or a schedule of fewer rounds, would help";
    case Limit::Schedule:
      return fmt::format("another schedule would help: {} is predicted to take {:.3g} of that time",
                         row.best, row.best_seconds / row.seconds);
    case Limit::Hosts:
      return fmt::format(
          "it took {:.3g} times what {} should: links are slower than the topology says, or "
          "processors and memory limit; measure the links with 'multitree run --measure-links'",
          all.verdict.times, all.verdict.nearest);
    case Limit::Beyond:
      return "faster than any schedule: links are faster than the topology says, or switches add "
             "and copy (NVLS, SHARP), which the bound leaves out";
  }
  return {};
}

std::string to_text(const Explained& all, const Topology& topology) {
  const Certificate& certificate = all.certified.certificate;
  std::string text = fmt::format(
      "# {} of {} on {}, {} ranks, against the {} without coding; {} limit\n",
      to_string(certificate.collective), all.run.program, topology.name(), topology.num_ranks(),
      all.certified.exact ? "optimum" : "bound", limiting_links(certificate, topology));
  std::vector<std::vector<std::string>> table = {
      {"size", "time", "busbw", "least", "share", "limited by", "fastest predicted", "would take"}};
  const auto microseconds = [](double seconds) { return fmt::format("{:.1f}us", seconds * 1e6); };
  for (const VerdictRow& row : all.verdict.rows) {
    table.push_back({format_bytes(row.bytes), microseconds(row.seconds),
                     fmt::format("{:.2f}", row.busbw), microseconds(row.least),
                     fmt::format("{:.3f}", row.share), std::string(to_string(row.limit)), row.best,
                     microseconds(row.best_seconds)});
  }
  const VerdictRow& last = last_row(all.verdict);
  return text + format_table(table) +
         fmt::format(
             "# {} {}, whose predicted times are {:.3g} of the measured at the largest "
             "sizes\n# at {}, {:.1f} % of the limit was reached: {}\n",
             all.verdict.named ? "it ran" : "its times are nearest those of", all.verdict.nearest,
             1 / all.verdict.times, format_bytes(last.bytes), last.share * 100,
             remedy(last, all, topology));
}

ordered_json to_json(const Explained& all, const Topology& topology) {
  ordered_json rows = ordered_json::array();
  for (const VerdictRow& row : all.verdict.rows) {
    rows.push_back({{"bytes", row.bytes},
                    {"seconds", row.seconds},
                    {"busbw_GBps", row.busbw},
                    {"bound_seconds", row.least},
                    {"share", row.share},
                    {"limited_by", to_string(row.limit)},
                    {"fastest", row.best},
                    {"fastest_seconds", row.best_seconds}});
  }
  return {{"program", all.run.program},
          {"topology", topology.name()},
          {"collective", to_string(*all.run.collective)},
          {"ranks", topology.num_ranks()},
          {"bound_shards", all.certified.certificate.bound.str()},
          {"bound_is_optimum", all.certified.exact},
          {"limiting_links", limiting_links(all.certified.certificate, topology)},
          {"algorithm", all.verdict.nearest},
          {"algorithm_is_named", all.verdict.named},
          {"measured_over_predicted", all.verdict.times},
          {"remedy", remedy(last_row(all.verdict), all, topology)},
          {"results", std::move(rows)}};
}

int run(const ExplainFlags& flags) {
  const Topology topology = load_whole_network(flags.network);
  std::vector<Explained> list;
  {
    Progress progress("reading " + flags.log);
    for (LoggedRun& each : chosen_runs(flags, topology)) {
      list.push_back(explain(std::move(each), flags, topology, progress));
    }
  }
  ordered_json json = ordered_json::array();
  bool beyond = false;
  for (const Explained& each : list) {
    flags.json ? json.push_back(to_json(each, topology)) : print(to_text(each, topology));
    beyond |= std::ranges::any_of(each.verdict.rows,
                                  [](const VerdictRow& row) { return row.limit == Limit::Beyond; });
  }
  if (flags.json) print_json(json);
  return beyond ? kNegativeAnswer : kOk;
}

}  // namespace

Command add_explain_command(CLI::App& parent) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* app = parent.add_subcommand(
      "explain", "How far the times in a benchmark's log are from the network's limit, and why");
  app->add_option("log", flags->log,
                  "What 'multitree run', nccl-tests, OSU's or Intel's MPI benchmarks or PARAM "
                  "printed, or bytes,seconds ('-': standard input)")
      ->required();
  add_network_flags(*app, flags->network)->required();
  app->add_option("-c,--collective", flags->collective,
                  "Of several in the log this one, or what was timed where the log does not say");
  app->add_option("-r,--root", flags->root, "Root rank, where there is one")
      ->check(number_from(0))
      ->capture_default_str();
  app->add_option("-a,--algorithm", flags->algorithms,
                  "Compare with these (default: what libraries run, and what is optimal here)");
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer(
      "Exit code 1: something was faster than the network allows.\n"
      "Example: printf 'bytes,seconds\\n1048576,150e-6\\n67108864,9e-3\\n' | multitree explain - "
      "-t torus:4x4 -c allreduce");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
