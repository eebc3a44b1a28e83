// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train lossy`: how many iterations more a network needs that learns from sums of which
/// a part is lost.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/registry.hpp"
#include "tools/progress.hpp"
#include "tools/train/setting.hpp"
#include "training/loss/lossy_training.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using training::LossyRun;

struct LossyFlags {
  NetworkFlags network;
  training::LossyLesson lesson;
  std::string algorithms = "multitree,ring", rules = "all", parts = "0.03,0.1", data;
  std::uint32_t seeds = 3, window = 20;
  bool sorted = false, json = false;
};

/// What a part of messages lost comes to, over seeds.
struct LossyRow {
  std::string algorithm, rule;
  double part = 0, expected = 0;
  std::vector<double> lost, counted, zero;  ///< the last two: iterations over the reliable run's
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::unique_ptr<training::DataSet> samples_for(const LossyFlags& flags, std::uint64_t seed) {
  const auto shards = flags.sorted ? training::Shards::Sorted : training::Shards::Mixed;
  return for_flag("--data", [&]() -> std::unique_ptr<training::DataSet> {
    if (!flags.data.empty()) return training::read_samples(flags.data, seed, shards);
    if (flags.lesson.learner.starts_with("transformer")) {
      return training::make_sequences(32, 32, seed);
    }
    return training::make_clusters(16, 10, seed, shards);
  });
}

double parse_part(const std::string& text) {
  try {
    std::size_t used = 0;
    const double part = std::stod(text, &used);
    if (used == text.size() && part >= 0 && part <= 1) return part;
  } catch (const std::logic_error&) {  // told below
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--loss: expected numbers from 0 to 1, got '{}'", text));
}

/// One seed: the reliable run reaches its loss halfway, and the others are to reach that as well.
void add_seed(const LossyFlags& flags, const Schedule& schedule, std::uint64_t seed,
              std::span<LossyRow> rows) {
  training::LossyLesson lesson = flags.lesson;
  lesson.seed = seed;
  const auto data = samples_for(flags, seed);
  const LossyRun reliable = for_flag("--learner", [&] {
    return training::train_with_losses(lesson, *data, schedule, {}, training::Missing::Counted);
  });
  const auto half = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, lesson.iterations / 2));
  const double target = training::least_mean(
      std::vector(reliable.losses.begin(), reliable.losses.begin() + half), flags.window);
  const double base = training::iterations_to(reliable.losses, target, flags.window);
  for (LossyRow& row : rows) {
    const training::Losses losses{.part = row.part, .seed = seed, .which = row.rule};
    const auto run = [&](training::Missing missing) {
      return training::train_with_losses(lesson, *data, schedule, losses, missing);
    };
    const LossyRun counted = run(training::Missing::Counted);
    row.lost.push_back(counted.report.part_lost());
    row.counted.push_back(training::iterations_to(counted.losses, target, flags.window) / base);
    row.zero.push_back(
        training::iterations_to(run(training::Missing::Zero).losses, target, flags.window) / base);
  }
}

std::vector<LossyRow> rows_of(const LossyFlags& flags, const Topology& topology) {
  std::vector<LossyRow> all;
  Progress progress("training on " + topology.name());
  const std::vector<std::string> algorithms = split_list(flags.algorithms);
  const double trials = static_cast<double>(algorithms.size() * flags.seeds);
  double over = 0;
  for (const std::string& algorithm : algorithms) {
    const Schedule schedule = for_flag(
        "--algorithm", [&] { return make_schedule(algorithm, topology, Collective::AllReduce); });
    training::CountedSums sums(schedule, 1 << 16, flags.lesson.packet, {0});
    std::vector<LossyRow> rows;
    for (const std::string& rule : split_list(flags.rules)) {
      static_cast<void>(for_flag(
          "--lose", [&]() -> const training::LossRule& { return training::find_loss_rule(rule); }));
      for (const std::string& part : split_list(flags.parts)) {
        LossyRow& row = rows.emplace_back();
        row.algorithm = algorithm;
        row.rule = rule;
        row.part = parse_part(part);
        row.expected = sums.expected_part_lost(row.part);
      }
    }
    for (std::uint64_t seed = 1; seed <= flags.seeds; ++seed) {
      progress.update(fmt::format("training with {}, seed {}", algorithm, seed), over++ / trials);
      add_seed(flags, schedule, seed, rows);
    }
    std::ranges::move(rows, std::back_inserter(all));
  }
  return all;
}

std::string spread_text(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", median_of(values), least, most);
}

int run_lossy(const LossyFlags& flags) {
  const Topology topology = load_whole_network(flags.network);
  const std::vector<LossyRow> rows = rows_of(flags, topology);
  if (flags.json) {
    ordered_json json = {{"network", topology.name()}, {"rows", ordered_json::array()}};
    for (const LossyRow& row : rows) {
      json["rows"].push_back({{"algorithm", row.algorithm},
                              {"lose", row.rule},
                              {"part", row.part},
                              {"expected_lost", row.expected},
                              {"lost", row.lost},
                              {"counted", row.counted},
                              {"zero", row.zero}});
    }
    print_json(json);
    return kOk;
  }
  print(
      fmt::format("# {} on {}, {} ranks, {} iterations, {} seeds: iterations to the reliable "
                  "run's loss halfway, over its own\n",
                  flags.lesson.learner, topology.name(), topology.num_ranks(),
                  flags.lesson.iterations, flags.seeds));
  std::vector<std::vector<std::string>> table = {
      {"algorithm", "droppable", "loss a hop", "lost", "if all droppable", "counted", "zeros"}};
  for (const LossyRow& row : rows) {
    table.push_back({row.algorithm, row.rule, fmt::format("{:g} %", 100 * row.part),
                     fmt::format("{:.1f} %", 100 * median_of(row.lost)),
                     fmt::format("{:.1f} %", 100 * row.expected), spread_text(row.counted),
                     spread_text(row.zero)});
  }
  print(format_table(table));
  return kOk;
}

}  // namespace

Command add_train_lossy(CLI::App& train) {
  auto flags = std::make_shared<LossyFlags>();
  CLI::App* app = train.add_subcommand(
      "lossy", "Learn from sums whose messages are lost: with counts carried, and with zeros");
  add_network_flags(*app, flags->network);
  app->add_option("-a,--algorithm", flags->algorithms, "Of the all-reduce, by commas")
      ->capture_default_str();
  app->add_option("--loss", flags->parts, "Part of droppable messages lost a hop, by commas")
      ->capture_default_str();
  app->add_option("--lose", flags->rules,
                  "What is droppable, by commas: all, front, back (layers), small, large "
                  "(gradients), front-small")
      ->capture_default_str();
  app->add_option("--learner", flags->lesson.learner, "As of 'train run'")->capture_default_str();
  app->add_option("-n,--iterations", flags->lesson.iterations, "Of each run")
      ->check(number_from(2, 1 << 20))
      ->capture_default_str();
  app->add_option("--batch", flags->lesson.batch, "Samples of a rank")
      ->check(number_from(1, 1 << 16))
      ->capture_default_str();
  app->add_option("--packet", flags->lesson.packet, "Numbers in a message")
      ->check(number_from(1))
      ->capture_default_str();
  app->add_option("--rate", flags->lesson.rate, "Of learning")->capture_default_str();
  app->add_option("--momentum", flags->lesson.momentum, "Of its steps")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--window", flags->window, "Iterations whose mean is compared")
      ->check(number_from(1))
      ->capture_default_str();
  app->add_option("--seeds", flags->seeds, "Runs of each")
      ->check(number_from(1, 1000))
      ->capture_default_str();
  app->add_option("--data", flags->data, "Samples, as of 'train run'; by default made up");
  app->add_flag("--sorted", flags->sorted, "Each rank has samples of few labels");
  app->add_flag("--json", flags->json, "Print JSON");
  return {app, [flags] { return run_lossy(*flags); }};
}

}  // namespace multitree::tools
