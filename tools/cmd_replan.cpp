// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree replan`: takes a schedule over to a network that has lost or got something.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "algorithms/io/io.hpp"
#include "algorithms/replan.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct ReplanFlags {
  std::string schedule;
  NetworkFlags network;
  std::string output;
  bool json = false;
};

Topology new_network(const ReplanFlags& flags, const Topology& old) {
  if (!flags.network.topology.empty()) return load_network(flags.network);
  if (flags.network.changes.given().empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "replan: expected --topology or a change such as --without, got neither");
  }
  return change_by_flags(old, flags.network.changes);
}

ordered_json to_json(const Replan& replan, const Topology& topology) {
  const ReplanReport& report = replan.report;
  ordered_json json = {{"topology", topology.name()},
                       {"algorithm", replan.schedule.algorithm},
                       {"collective", to_string(replan.schedule.collective)},
                       {"ranks", replan.schedule.ranks},
                       {"steps", replan.schedule.num_steps()},
                       {"trees", report.trees},
                       {"trees_kept", report.kept},
                       {"load_before", report.load_before.str()},
                       {"load_after", report.load_after.str()},
                       {"load_bound", report.bound.str()},
                       {"load_ratio", report.ratio()},
                       {"regenerated", report.regenerated},
                       {"verified", true},
                       {"seconds", report.seconds},
                       {"verify_seconds", report.verify_seconds}};
  if (!report.reason.empty()) json["reason"] = report.reason;
  return json;
}

std::string replan_text(const Replan& replan, const Topology& topology) {
  const ReplanReport& report = replan.report;
  const auto shards = [](const Exact& load) {
    return fmt::format("{:.6g}", static_cast<double>(load));
  };
  std::string text = fmt::format("# {} on {}, {} ranks, {} steps; verified\n",
                                 to_string(replan.schedule.collective), topology.name(),
                                 replan.schedule.ranks, replan.schedule.num_steps());
  text += report.regenerated
              ? fmt::format("made anew by {}: {}\n", replan.schedule.algorithm, report.reason)
              : fmt::format("{} of {} trees kept, {} repaired\n", report.kept, report.trees,
                            report.trees - report.kept);
  if (!report.regenerated && !report.reason.empty()) text += report.reason + "\n";
  text +=
      fmt::format("load {} -> {} shard times, bound {}, ratio {:.3f}\n", shards(report.load_before),
                  shards(report.load_after), shards(report.bound), report.ratio());
  return text + fmt::format("replanned in {:.3f}s\nverified before and after in {:.3f}s\n",
                            report.seconds, report.verify_seconds);
}

int run(const ReplanFlags& flags) {
  if (!flags.output.empty()) check_writable(flags.output);
  const SchedulePlan old = load_schedule(flags.schedule);
  const Topology topology = new_network(flags, old.topology);
  const bool to_stdout = flags.output == "-" || (flags.output.empty() && !flags.json);
  const Replan result = [&] {
    const Progress progress("replanning for " + topology.name());
    return replan(old.schedule, old.topology, topology);
  }();
  if (to_stdout || !flags.output.empty()) {
    write_file(to_stdout ? "-" : flags.output, write_schedule_json(result.schedule, topology));
  }
  const std::string report =
      flags.json ? to_json(result, topology).dump(2) + "\n" : replan_text(result, topology);
  to_stdout ? print_error(report) : print(report);
  return kOk;
}

}  // namespace

Command add_replan_command(CLI::App& parent) {
  auto flags = std::make_shared<ReplanFlags>();
  CLI::App* app = parent.add_subcommand(
      "replan", "Repair a schedule for a network that has failed links, switches or ranks");
  app->add_option("schedule", flags->schedule, "Schedule file ('-': standard input)")->required();
  app->add_option("-t,--topology", flags->network.topology,
                  "The network as it is now, nodes by their old names; by default that of the "
                  "schedule, less what failed");
  add_change_flags(*app, flags->network.changes);
  app->add_option(
      "-o,--output", flags->output,
      "Write the schedule here ('-': standard output, also the default without --json)");
  app->add_flag("--json", flags->json, "Print the report as JSON");
  app->footer(
      "Example: multitree schedule -t torus:8x8 | multitree replan - --without 3-4 | multitree "
      "verify -");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
