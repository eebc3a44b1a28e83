// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train study`: how losses fall under policies and compressors, against iterations and
/// against time on networks.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/progress.hpp"
#include "tools/train/setting.hpp"
#include "tools/train/study/summary.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"
#include "training/compression/compressor.hpp"
#include "training/network_costs.hpp"
#include "training/policies.hpp"

namespace multitree::tools {
namespace {

using training::Shards;

struct StudyFlags {
  std::vector<std::string> networks;
  std::string learners = "logistic,mlp?hidden=32,transformer?width=16&blocks=1&heads=2";
  std::string policies =
      "bsp,wfbp,dear,priority,pipe-sgd,local-sgd,cocod?every=1,cocod?every=2,cocod,"
      "cocod?every=10,diloco?every=25";
  std::string compress = "all", shards = "mixed,sorted", pace = "5ms", data, text, output,
              optimizer = "sgd";
  std::string algorithm = "allreduce-optimal";
  std::uint64_t seeds = 3;
  double gained = 0.95;
  training::Trial trial;
  bool json = false;
};

std::vector<StudyNetwork> networks_of(const StudyFlags& flags) {
  std::vector<std::string> specs = flags.networks;
  if (specs.empty()) {
    for (const char* rate : {"10Mbit/s", "100Mbit/s"}) {
      for (const char* shape : {"torus:4x2", "torus:4x4"}) {
        specs.push_back(fmt::format("{}?bw={}&lat=50us", shape, rate));
      }
    }
  }
  std::vector<StudyNetwork> networks;
  for (const std::string& spec : specs) {
    Topology topology = load_whole_network({.topology = spec, .changes = {}});
    const training::Costs costs = for_flag("--algorithm", [&] {
      return training::network_costs(topology, flags.algorithm, nic::Model::Message);
    });
    networks.push_back({std::move(topology), costs});
  }
  return networks;
}

std::vector<Technique> techniques_of(const StudyFlags& flags) {
  std::vector<Technique> techniques;
  for (std::string& policy : split_list(flags.policies)) techniques.push_back({std::move(policy)});
  const std::string base = techniques[0].policy;
  if (flags.compress == "none") return techniques;
  if (training::has_rounds(base)) {
    throw Error(ErrorCode::InvalidArgument,
                "--policies: expected a synchronous policy first, which the others and compressors "
                "are compared with, got " +
                    base);
  }
  if (flags.compress == "all") {
    for (const training::Compression& row : training::compressions()) {
      if (row.name != "none") techniques.push_back({base, std::string(row.name)});
    }
    return techniques;
  }
  for (std::string& one : split_list(flags.compress)) techniques.push_back({base, std::move(one)});
  return techniques;
}

Shards parse_shards(const std::string& text) {
  for (const Shards one : {Shards::Mixed, Shards::Sorted}) {
    if (text == to_string(one)) return one;
  }
  throw Error(ErrorCode::InvalidArgument,
              "--shards: expected mixed, sorted or both, got '" + text + "'");
}

/// What is wrong is found before anything is tried. \throws Error naming the flag
void check(const StudyPlan& plan) {
  for (const std::string& name : plan.learners) {
    const auto learner = for_flag("--learners", [&] {
      const auto data = study_data(plan, name, 1, Shards::Mixed);
      return training::make_learner(name, data->shape(), 1);
    });
    if (learner->parameters().empty()) {
      throw Error(ErrorCode::InvalidArgument, "--learners: expected parameters, got none");
    }
  }
  const training::Model model{.name = "one", .layers = {{"one", 1e-3, 2e-3, {4}}}};
  for (const Technique& one : plan.techniques) {
    for_flag("--policies", [&] {
      return training::simulate(one.policy, model, training::Costs::symmetric({1e-6, 1e-9}));
    });
    for_flag("--compress", [&] { return training::make_compressor(one.compression); });
  }
  if (plan.trial.iterations % plan.trial.points != 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--points: expected a divisor of the {} iterations, got {}",
                            plan.trial.iterations, plan.trial.points));
  }
}

StudyPlan plan_of(const StudyFlags& flags, const std::vector<StudyNetwork>& networks) {
  StudyPlan plan{.learners = split_list(flags.learners),
                 .techniques = techniques_of(flags),
                 .ranks = {},
                 .shards = {},
                 .seeds = flags.seeds,
                 .trial = flags.trial,
                 .pace = for_flag("--pace", [&] { return parse_time(flags.pace); }).seconds(),
                 .gained = flags.gained,
                 .data = flags.data,
                 .text = flags.text,
                 .algorithm = flags.algorithm};
  plan.trial.steps.adamw =
      for_flag("--optimizer", [&] { return training::parse_optimizer(flags.optimizer); });
  for (const StudyNetwork& network : networks) {
    const std::uint32_t ranks = network.topology.num_ranks();
    if (std::ranges::find(plan.ranks, ranks) == plan.ranks.end()) plan.ranks.push_back(ranks);
  }
  for (const std::string& one : split_list(flags.shards)) plan.shards.push_back(parse_shards(one));
  check(plan);
  return plan;
}

std::string in_markdown(const TitledTable& table) {
  std::string text = table.title + "\n\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const std::string& cell : table.rows[row]) text += "| " + cell + " ";
    text += "|\n";
    if (row != 0) continue;
    for (std::size_t c = 0; c < table.rows[0].size(); ++c) text += "|---";
    text += "|\n";
  }
  return text;
}

int run_study_command(const StudyFlags& flags) {
  std::string trials;
  if (!flags.output.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(flags.output, failed);
    if (failed) throw Error(ErrorCode::Io, flags.output + ": " + failed.message());
    trials = flags.output + "/trials.jsonl";
  }
  const std::vector<StudyNetwork> networks = networks_of(flags);
  const StudyPlan plan = plan_of(flags, networks);
  TrialFile file(trials);
  std::vector<Place> places;
  {
    Progress progress("study");
    const auto show = [&](std::size_t over, std::size_t all, const std::string& next) {
      progress.update(fmt::format("trial {} of {}: {}", over + 1, all, next),
                      static_cast<double>(over) / static_cast<double>(all));
    };
    places = run_study(plan, file, show);
  }
  const std::vector<TitledTable> tables = tables_of(plan, places, networks);
  if (!flags.output.empty()) {
    std::string report;
    for (const TitledTable& table : tables) report += in_markdown(table) + "\n";
    write_file(flags.output + "/report.md", report);
    write_file(flags.output + "/curves.csv", curves_csv(plan, places));
    for (const auto& [name, svg] : figures_of(plan, places, networks)) {
      write_file(flags.output + "/" + name, svg);
    }
  }
  if (flags.json) {
    print_json(json_of(plan, places, networks));
    return kOk;
  }
  for (const TitledTable& table : tables) {
    print("# " + table.title + "\n" + format_table(table.rows));
  }
  return kOk;
}

}  // namespace

Command add_train_study(CLI::App& train) {
  auto flags = std::make_shared<StudyFlags>();
  CLI::App* app = train.add_subcommand(
      "study", "How losses fall under policies and compressors: all ranks in this process");
  app->add_option(
         "-t,--topology", flags->networks,
         "A network, more than once for several: for its ranks losses are tried, and on it "
         "times are planned (default: torus:4x2 and torus:4x4 of 10 and 100 Mbit/s)")
      ->allow_extra_args(false);
  app->add_option("--learners", flags->learners, "As of 'train run', by commas")
      ->capture_default_str();
  app->add_option("-p,--policies", flags->policies,
                  "By commas; the others are compared with the first")
      ->capture_default_str();
  app->add_option("--compress", flags->compress,
                  "Compressors of the first policy's sums, by commas; all or none")
      ->capture_default_str();
  app->add_option("--shards", flags->shards, "mixed, sorted, or both")->capture_default_str();
  app->add_option("--seeds", flags->seeds, "So many of data and parameters")
      ->check(number_from(1, 1000))
      ->capture_default_str();
  app->add_option("-n,--iterations", flags->trial.iterations, "Of a training")
      ->check(number_from(1, 1 << 20))
      ->capture_default_str();
  app->add_option("--points", flags->trial.points, "At which its loss is determined")
      ->check(number_from(1, 1 << 20))
      ->capture_default_str();
  app->add_option("--batch", flags->trial.batch, "Samples a rank and iteration")
      ->check(number_from(1, 1 << 16))
      ->capture_default_str();
  app->add_option("--optimizer", flags->optimizer,
                  "Of learners: sgd, or adamw?squares=0.999&decay=0.01&least=1e-8")
      ->capture_default_str();
  app->add_option("--rate", flags->trial.steps.rate, "Of learning")->capture_default_str();
  app->add_option("--momentum", flags->trial.steps.momentum,
                  "Of its steps; adamw: of its mean gradient")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--pace", flags->pace, "What computing takes in an iteration")
      ->capture_default_str();
  app->add_option("--gained", flags->gained,
                  "Times are compared at the loss at which the first policy has gained this part "
                  "of what it gains")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("-a,--algorithm", flags->algorithm, "Of the collectives")->capture_default_str();
  app->add_option("--data", flags->data,
                  "Samples, a line each: numbers and a label, with commas; by default made up");
  app->add_option("--text", flags->text, "What transformers learn; by default made up");
  app->add_option("-o,--output", flags->output,
                  "A directory: tables, every point, figures, and all trials, which are not tried "
                  "again");
  app->add_flag("--json", flags->json, "Print JSON");
  return {app, [flags] { return run_study_command(*flags); }};
}

}  // namespace multitree::tools
