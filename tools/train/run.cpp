// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train run`: iterations on real ranks, of plans or of networks that learn.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/registry.hpp"
#include "runtime/job/launcher.hpp"
#include "tools/progress.hpp"
#include "tools/run/processes.hpp"
#include "tools/train/run/loss_flags.hpp"
#include "tools/train/run/play.hpp"
#include "tools/train/run/player.hpp"
#include "tools/train/run/report.hpp"
#include "tools/train/setting.hpp"
#include "tools/train/timeline.hpp"
#include "topologies/exception_words.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"
#include "training/compression/compressor.hpp"
#include "training/learners/rounds.hpp"
#include "training/network_costs.hpp"
#include "training/policies.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using runtime::Bootstrap;
using training::Plan;

struct RunTrainFlags : TrainFlags {
  std::vector<std::string> plans;
  std::string learner, policies = "priority", data, trace, run_algorithm, pace, compressor;
  std::uint32_t iterations = 10, warmup = 2, processes = 0;
  std::uint64_t seed = 1;
  double timeout = 30;
  Teaching teaching;
  LossFlags losses;
  bool host = false, sorted = false, same_bits = false;
  std::string on_failure = "stop", optimizer = "sgd";
};

/// What all ranks know before they meet.
struct Lesson {
  std::vector<Topology> network;  ///< one
  std::vector<Plan> plans;        ///< of files; none: of the learner
  std::unique_ptr<training::DataSet> data;
};

runtime::Deadline deadline_of(const RunTrainFlags& flags) {
  return runtime::Deadline(static_cast<std::int64_t>(flags.timeout * 1000));
}

std::unique_ptr<training::DataSet> data_for(const RunTrainFlags& flags) {
  const auto shards = flags.sorted ? training::Shards::Sorted : training::Shards::Mixed;
  if (flags.data.empty() && flags.learner.starts_with("transformer")) {
    return training::make_sequences(32, 32, flags.seed);
  }
  if (flags.data.empty()) return training::make_clusters(28, 10, flags.seed, shards);
  return training::read_samples(flags.data, flags.seed, shards);
}

/// Collective: what rank 0 says.
std::string told_by_first(Bootstrap& job, const std::string& text, runtime::Deadline deadline) {
  return job.all_gather(job.seat() == runtime::Seat{0} ? text : std::string(), deadline)[0];
}

/// Passes take the same parts of `seconds` as of what they took.
void set_pace(training::Model& model, double seconds) {
  const double factor = seconds / (model.forward() + model.backward());
  for (training::Layer& layer : model.layers) {
    layer.forward *= factor;
    layer.backward *= factor;
  }
}

/// Of a policy without a plan: an all-reduce of everything, and how long its iterations take.
Plan plan_of(const std::string& policy, const training::Model& model, const training::Costs& costs,
             const std::string& algorithm) {
  if (!training::has_rounds(policy)) return training::make_plan(policy, model, costs, algorithm);
  Plan plan = training::make_plan("bsp", model, costs, algorithm);
  plan.policy = policy;
  plan.seconds = training::simulate(policy, model, costs).seconds;
  return plan;
}

/// What does not fit is to be said once, before there are processes. \throws Error naming the flag
void check_learning(const RunTrainFlags& flags, const Lesson& lesson) {
  const auto learner = for_flag("--learner", [&] {
    return training::make_learner(flags.learner, lesson.data->shape(), flags.seed);
  });
  if (!flags.pace.empty()) {
    static_cast<void>(for_flag("--pace", [&] { return parse_time(flags.pace); }));
  }
  if (!flags.trace.empty() &&
      training::has_rounds(flags.policies.substr(0, flags.policies.find(',')))) {
    throw Error(ErrorCode::InvalidArgument,
                "--trace: expected a policy first that has plans, got " + flags.policies);
  }
  if (flags.losses.budget && flags.on_failure == "shrink") {
    throw Error(ErrorCode::InvalidArgument,
                "--on-failure shrink: expected it without --loss-budget, whose sums count on all "
                "ranks");
  }
  if (flags.losses.budget && flags.same_bits) {
    throw Error(ErrorCode::InvalidArgument,
                "--same-bits: expected it without --loss-budget, whose sums are on trees of their "
                "own");
  }
  if (!flags.compressor.empty()) {
    static_cast<void>(
        for_flag("--compress", [&] { return training::make_compressor(flags.compressor); }));
    if (flags.losses.budget || (flags.same_bits && flags.compressor != kLossless)) {
      throw Error(ErrorCode::InvalidArgument,
                  "--compress: expected it without --loss-budget and --same-bits, which make sums "
                  "in ways of their own");
    }
  }
  const training::Costs costs = training::Costs::symmetric({1e-6, 1e-9});
  for (const std::string& policy : split_list(flags.policies)) {
    const Plan plan = for_flag("--policy", [&] {
      return plan_of(policy, untimed_model(*learner), costs, flags.algorithm);
    });
    if (!flags.compressor.empty()) {
      if (flags.compressor != kLossless) {
        for_flag("--compress", [&] { check_all_reduces(plan); });
      }
      if (training::has_rounds(policy)) {
        throw Error(ErrorCode::InvalidArgument,
                    fmt::format("--compress: expected policies that have plans, got {}", policy));
      }
    }
    if (!flags.losses.budget) continue;
    for_flag("--loss-budget", [&] { check_all_reduces(plan); });
    if (training::has_rounds(policy) || flags.host) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("--loss-budget: expected a policy that has plans, and messages, got {}{}",
                      policy, flags.host ? " with --host" : ""));
    }
  }
}

Lesson lesson_of(const RunTrainFlags& flags) {
  Lesson lesson;
  const bool learns = !flags.learner.empty();
  if (learns != flags.plans.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "train run: expected either files of 'train plan' or --learner, got " +
                    std::string(learns ? "both" : "neither"));
  }
  if (!learns && !flags.compressor.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "--compress: expected --learner, as sums of plans are checked");
  }
  if (!learns && (flags.losses.budget || !flags.losses.straggler.empty())) {
    throw Error(ErrorCode::InvalidArgument,
                "--loss-budget, --straggler: expected --learner, as sums of plans are checked");
  }
  for (const std::string& file : flags.plans) {
    training::PlanFile read = training::parse_iteration_plan(read_file(file), file);
    static_cast<void>(stretches_of(read.plan));
    if (lesson.network.empty()) {
      lesson.network.push_back(std::move(read.topology));
    } else if (read.topology != lesson.network.front()) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: expected the network of {}, {}, found {}", file, flags.plans[0],
                              lesson.network.front().name(), read.topology.name()));
    }
    lesson.plans.push_back(std::move(read.plan));
  }
  if (learns) {
    NetworkFlags network = flags.network;
    if (network.topology.empty()) {
      network.topology = fmt::format("full:{}", std::max(flags.processes, 1U));
    }
    lesson.network.push_back(load_whole_network(network));
    lesson.data = for_flag("--data", [&] { return data_for(flags); });
    check_learning(flags, lesson);
    if (loss_bounds(flags.losses, deadline_of(flags))) {
      for_flag("--loss-budget", [&] {
        runtime::check_trees(
            make_schedule(flags.algorithm, lesson.network.front(), Collective::AllReduce));
      });
    }
    static_cast<void>(straggler_of(flags.losses, lesson.network.front().num_ranks()));
  }
  static_cast<void>(for_flag("--algorithm", [&] { return told(flags.algorithm, 1, Time{}); }));
  return lesson;
}

/// Collective: plans for the learner, with the times that rank 0 has measured.
std::vector<Plan> plans_for_learner(const RunTrainFlags& flags, const Lesson& lesson,
                                    Bootstrap& job, runtime::Deadline deadline) {
  const Topology& topology = lesson.network.front();
  std::string texts;
  if (job.seat() == runtime::Seat{0}) {
    const auto learner = training::make_learner(flags.learner, lesson.data->shape(), flags.seed);
    training::Model model = measured_model(*learner, *lesson.data, flags.teaching);
    if (!flags.pace.empty()) set_pace(model, parse_time(flags.pace).seconds());
    const nic::Model simulator =
        for_flag("--network-model", [&] { return nic::parse_model(flags.simulator); });
    const double call = for_flag("--call", [&] { return parse_time(flags.call); }).seconds();
    const std::vector<std::string> policies = split_list(flags.policies);
    const bool halves = std::ranges::any_of(policies, training::has_halves);
    const training::Costs costs =
        training::network_costs(topology, flags.algorithm, simulator, call, halves);
    ordered_json all = ordered_json::array();
    for (const std::string& policy : policies) {
      const Plan plan =
          for_flag("--policy", [&] { return plan_of(policy, model, costs, flags.algorithm); });
      all.push_back(write_json(plan, topology));
    }
    texts = all.dump();
  }
  std::vector<Plan> plans;
  for (const auto& text : ordered_json::parse(told_by_first(job, texts, deadline))) {
    plans.push_back(training::parse_iteration_plan(text.get<std::string>(), flags.learner).plan);
  }
  return plans;
}

PlayOptions play_options(const RunTrainFlags& flags) {
  return {.algorithm = flags.run_algorithm,
          .host = flags.host,
          .same_bits = flags.same_bits,
          .iterations = flags.iterations,
          .warmup = flags.warmup,
          .timeout = deadline_of(flags),
          .learner = flags.learner,
          .seed = flags.seed,
          .teaching = flags.teaching,
          .paced = !flags.pace.empty(),
          .compressor = flags.compressor,
          .losses = loss_bounds(flags.losses, deadline_of(flags)),
          .shrinks = flags.on_failure == "shrink"};
}

int run_rank(RunTrainFlags flags, const Lesson& lesson, const std::shared_ptr<Bootstrap>& job) {
  const runtime::Deadline deadline = deadline_of(flags);
  flags.teaching.straggler = straggler_of(flags.losses, job->size());
  const PlayOptions options = play_options(flags);
  Play play(options, lesson.network.front(), lesson.data.get(), job);
  try {
    const std::vector<Plan> plans =
        lesson.plans.empty() ? plans_for_learner(flags, lesson, *job, 4 * deadline) : lesson.plans;
    std::vector<Result> outcomes;
    for (const Plan& plan : plans) outcomes.push_back(play.of(plan));
    if (play.crew().job()->seat() != runtime::Seat{0}) return kOk;
    const Topology& topology = lesson.network.front();
    std::vector<ResultRow> rows;
    for (std::size_t p = 0; p < plans.size(); ++p) {
      const double bound = certify_iteration(plans[p].model, topology).bound.seconds;
      rows.push_back({&plans[p], &outcomes[p], bound, !training::has_rounds(plans[p].policy)});
    }
    if (!flags.trace.empty()) {
      write_file(flags.trace,
                 timeline_of(plans.front(), {{"expected: ", expected_of(plans.front())},
                                             {"rank 0: ", outcomes.front().last}}));
      if (flags.trace == "-") return kOk;
    }
    if (!flags.json) {
      print_rows(rows,
                 {.iterations = flags.iterations,
                  .warmup = flags.warmup,
                  .host = flags.host,
                  .learns = !flags.learner.empty(),
                  .loses = flags.losses.budget.has_value(),
                  .batch = flags.teaching.batch},
                 topology);
      return kOk;
    }
    ordered_json json = {{"network", topology.name()}, {"ranks", topology.num_ranks()}};
    if (flags.on_failure == "shrink") json["lost"] = play.crew().survivors().lost();
    for (const ResultRow& row : rows) json["policies"].push_back(json_of(row));
    print_json(json);
    return kOk;
  } catch (const std::exception& error) {
    play.crew().job()->report_failure(
        plain_words(error));  // the others are not to wait for this one
    throw;
  }
}

int run(RunTrainFlags flags) {
  flags.teaching.steps.adamw =
      for_flag("--optimizer", [&] { return training::parse_optimizer(flags.optimizer); });
  if (!flags.trace.empty()) check_writable(flags.trace);
  const auto check_ranks = [&](const Lesson& lesson, std::uint32_t processes) {
    const std::uint32_t ranks = lesson.network.front().num_ranks();
    if (processes == 0 || processes == ranks) return;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("train run: expected {} processes, one for each rank of {}, got {}",
                            ranks, lesson.network.front().name(), processes));
  };
  if (runtime::started_by_launcher()) {
    const auto job = runtime::make_bootstrap({.deadline = deadline_of(flags)});
    if (flags.processes == 0) flags.processes = job->size();
    const Lesson lesson = lesson_of(flags);
    check_ranks(lesson, job->size());
    return run_rank(flags, lesson, job);
  }
  // What is wrong with the request is found here, once, before any process is started.
  const Lesson lesson = lesson_of(flags);
  check_ranks(lesson, flags.processes);
  const std::uint32_t ranks = lesson.network.front().num_ranks();
  if (ranks == 1) return run_rank(flags, lesson, runtime::make_bootstrap());
  const runtime::Deadline grace = deadline_of(flags) + std::chrono::seconds(5);
  return runtime::launch_local(
      ranks, arguments(),
      {.grace = grace, .program = {}, .survive_deaths = flags.on_failure == "shrink"});
}

/// What only a learner is asked for.
void add_learning_flags(CLI::App& app, RunTrainFlags& flags) {
  app.add_option("--batch", flags.teaching.batch, "Samples of a learner, a rank and iteration")
      ->check(number_from(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--optimizer", flags.optimizer,
                 "Of a learner: sgd, or adamw?squares=0.999&decay=0.01&least=1e-8")
      ->capture_default_str();
  app.add_option("--rate", flags.teaching.steps.rate, "Of learning")->capture_default_str();
  app.add_option("--momentum", flags.teaching.steps.momentum,
                 "Of its steps; adamw: of its mean gradient")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--pace", flags.pace,
                 "What the passes of an iteration take at least: a learner's sleep until then");
  app.add_option("--compress", flags.compressor,
                 "How sums of a learner's gradients travel: lossless, or with error feedback "
                 "bfloat16, half, fp8?format=e4m3, int8?form=hop, int8, sign, top-k?share=0.01, "
                 "random-k, powersgd?rank=4");
  add_loss_flags(app, flags.losses);
  app.add_option("--data", flags.data,
                 "Samples, a line each: numbers and a label, with commas; by default made up");
  app.add_flag("--sorted", flags.sorted, "Each rank has samples of few labels");
  app.add_option("--seed", flags.seed, "Of data and parameters")->capture_default_str();
}

}  // namespace

Command add_train_run(CLI::App& train) {
  auto flags = std::make_shared<RunTrainFlags>();
  CLI::App* app = train.add_subcommand(
      "run", "Carry iterations out on real ranks: of plans, or of a network that learns");
  app->add_option("plan", flags->plans,
                  "Files of 'train plan', for one network: computing is sleeping");
  app->add_option("--learner", flags->learner,
                  "Instead of a plan: logistic, mlp?hidden=512&depth=2, lenet5, or "
                  "transformer?width=64&blocks=2&heads=4");
  app->add_option("-p,--policy", flags->policies, "Policies for the learner, by commas")
      ->capture_default_str();
  add_network_flags(*app, flags->network)->required(false);
  app->add_option("-a,--algorithm", flags->run_algorithm,
                  "Of the collectives; by default the plan's, for a learner allreduce-optimal");
  app->add_flag("--host", flags->host,
                "Collectives in the memory of one host, which all ranks share, without messages");
  app->add_flag("--same-bits", flags->same_bits,
                "Messages add each gradient on the tree that its place in the model says: the same "
                "sums under all policies");
  app->add_option("-n,--iterations", flags->iterations, "Iterations that are timed")
      ->check(number_from(1, 1 << 20))
      ->capture_default_str();
  app->add_option("-w,--warmup", flags->warmup, "And those before them")
      ->check(number_from(0, 1 << 20))
      ->capture_default_str();
  app->add_option("--np", flags->processes, "Processes, where no network says how many")
      ->check(number_from(1, 1 << 16));
  add_learning_flags(*app, *flags);
  app->add_option("-T,--timeout", flags->timeout, "Longest wait without any progress, in seconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--on-failure", flags->on_failure,
                  "When a rank dies: stop, or shrink: the others go on from the last iteration "
                  "that any of them has ended")
      ->check(one_of({"stop", "shrink"}))
      ->capture_default_str();
  app->add_option("--trace", flags->trace,
                  "Write the last iteration of the first policy beside its plan, for Perfetto");
  app->add_flag("--json", flags->json, "Print JSON");
  return {app, [flags] {
            RunTrainFlags wanted = *flags;
            if (!wanted.run_algorithm.empty()) wanted.algorithm = wanted.run_algorithm;
            return run(std::move(wanted));
          }};
}

}  // namespace multitree::tools
