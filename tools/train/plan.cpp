// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train plan` and `simulate`: what an iteration sends when, as a file and on a network.
#include "training/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/progress.hpp"
#include "tools/train/setting.hpp"
#include "tools/train/timeline.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"
#include "training/policies.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using training::JobTime;
using training::Plan;
using training::PlannedTransfer;
using training::SimulatedPlan;

struct PlanFlags : TrainFlags {
  std::string policy = "priority", output, plan, trace, slow_ranks;
  bool simulate = false, refine = false;
};

/// The plan with the times that it takes when it is carried out on the network as a whole.
Plan with_simulated_times(Plan plan, const Topology& topology, const Setting& setting,
                          const PlanFlags& flags) {
  const Progress progress("simulating the plan on " + topology.name());
  const nic::Model simulator = nic::parse_model(flags.simulator);
  training::RefinedPlan refined =
      flags.refine ? refine_plan(plan, setting.costs, topology, simulator, setting.bound.seconds)
                   : training::RefinedPlan{plan, simulate_plan(plan, topology, simulator)};
  const SimulatedPlan& times = refined.times;
  plan = std::move(refined.plan);
  plan.seconds = times.seconds;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    plan.transfers[t].begin = times.transfers[t].begin;
    plan.transfers[t].end = times.transfers[t].end;
  }
  return plan;
}

int run_plan(const PlanFlags& flags) {
  const training::Model model = load_model(flags);
  const Topology topology = load_whole_network(flags.network);
  const Setting setting = setting_of(flags, model, {flags.policy});
  Plan plan = for_flag("--policy", [&] {
    return training::make_plan(flags.policy, model, setting.costs, flags.algorithm);
  });
  if (flags.simulate || flags.refine) {
    plan = with_simulated_times(std::move(plan), topology, setting, flags);
  }
  write_file(flags.output, write_json(plan, topology));
  if (!flags.trace.empty()) {
    write_file(flags.trace, timeline_of(plan, {{"", expected_of(plan)}}));
  }
  if (flags.output == "-" || flags.trace == "-") return kOk;
  if (flags.json) {
    print_json({{"policy", plan.policy},
                {"model", model.name},
                {"topology", topology.name()},
                {"transfers", plan.transfers.size()},
                {"expected_seconds", plan.seconds},
                {"bound_seconds", setting.bound.seconds}});
    return kOk;
  }
  print(fmt::format("{}: {} of {} on {}, {} transfers, {} expected, at least {}\n", flags.output,
                    plan.policy, model.name, topology.name(), plan.transfers.size(),
                    milliseconds(plan.seconds), milliseconds(setting.bound.seconds)));
  return kOk;
}

/// "3:1.5,7:2" as how many times as long each rank computes.
std::vector<double> parse_slowness(const std::string& text, std::uint32_t ranks) {
  if (text.empty()) return {};
  std::vector<double> slowness(ranks, 1.0);
  for (const std::string& part : split_list(text)) {
    const std::size_t colon = part.find(':');
    try {
      std::size_t used = 0, used_times = 0;
      const unsigned long rank = std::stoul(part.substr(0, colon), &used);
      const std::string times = colon == part.npos ? "" : part.substr(colon + 1);
      const double value = std::stod(times, &used_times);
      if (used == colon && used_times == times.size() && rank < ranks && value >= 0 &&
          std::isfinite(value)) {
        slowness[rank] = value;
        continue;
      }
    } catch (const std::logic_error&) {  // told below
    }
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--slow-ranks: expected RANK:TIMES,... with ranks below {}, got '{}'",
                            ranks, part));
  }
  return slowness;
}

void print_simulated(const Plan& plan, const SimulatedPlan& times, const Topology& topology) {
  print(fmt::format("# {} of {} on {}: expected {}, simulated {}\n", plan.policy, plan.model.name,
                    topology.name(), milliseconds(plan.seconds), milliseconds(times.seconds)));
  std::vector<std::vector<std::string>> rows = {
      {"transfer", "bytes", "expected", "to", "simulated", "to"}};
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const PlannedTransfer& transfer = plan.transfers[t];
    rows.push_back({name_of(transfer, plan.model), format_bytes(transfer.bytes),
                    milliseconds(transfer.begin), milliseconds(transfer.end),
                    milliseconds(times.transfers[t].begin), milliseconds(times.transfers[t].end)});
  }
  print(format_table(rows));
}

ordered_json json_of(const Plan& plan, const SimulatedPlan& times) {
  ordered_json json = {{"policy", plan.policy},
                       {"model", plan.model.name},
                       {"expected_seconds", plan.seconds},
                       {"simulated_seconds", times.seconds},
                       {"transfers", ordered_json::array()}};
  for (const JobTime& time : times.transfers) {
    json["transfers"].push_back({{"begin", time.begin}, {"end", time.end}});
  }
  return json;
}

int run_simulate(const PlanFlags& flags) {
  const training::PlanFile file = training::parse_iteration_plan(read_file(flags.plan), flags.plan);
  const Topology topology =
      flags.network.topology.empty() ? file.topology : load_network(flags.network);
  const nic::Model simulator =
      for_flag("--network-model", [&] { return nic::parse_model(flags.simulator); });
  const Progress progress("simulating " + flags.plan + " on " + topology.name());
  const SimulatedPlan times = simulate_plan(file.plan, topology, simulator,
                                            parse_slowness(flags.slow_ranks, topology.num_ranks()));
  if (!flags.trace.empty()) {
    write_file(flags.trace, timeline_of(file.plan, {{"", times}}));
    if (flags.trace == "-") return kOk;
  }
  flags.json ? print_json(json_of(file.plan, times)) : print_simulated(file.plan, times, topology);
  return kOk;
}

}  // namespace

Command add_train_plan(CLI::App& train) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* app = train.add_subcommand("plan", "Write what an iteration sends when");
  add_model_flags(*app, *flags);
  app->add_option("-p,--policy", flags->policy, "Policy with its options")->capture_default_str();
  add_cost_flags(*app, *flags);
  app->add_flag(
      "--simulate", flags->simulate,
      "Expect what a simulation of the whole plan takes, not what transfers one by one do");
  app->add_flag("--refine", flags->refine, kRefineWords);
  app->add_option("-o,--output", flags->output, "The plan, JSON ('-': standard output)")
      ->required();
  app->add_option("--trace", flags->trace, "Write the expected timeline here, for Perfetto");
  return {app, [flags] { return run_plan(*flags); }};
}

Command add_train_simulate(CLI::App& train) {
  auto flags = std::make_shared<PlanFlags>();
  CLI::App* app = train.add_subcommand(
      "simulate", "Carry a plan out on a network: all transfers together, and the passes");
  app->add_option("plan", flags->plan, "File of 'train plan' ('-': standard input)")->required();
  add_network_flags(*app, flags->network)->required(false);
  add_simulator_flag(*app, *flags);
  app->add_option("--slow-ranks", flags->slow_ranks,
                  "Ranks that compute so many times as long: RANK:TIMES,...");
  app->add_option("--trace", flags->trace, "Write the timeline here, for Perfetto");
  app->add_flag("--json", flags->json, "Print JSON");
  return {app, [flags] { return run_simulate(*flags); }};
}

}  // namespace multitree::tools
