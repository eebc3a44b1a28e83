// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train`: iterations of training on a network, under policies of communication.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"
#include "training/bound.hpp"
#include "training/network_costs.hpp"
#include "training/policies.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using training::Costs;
using training::Iteration;
using training::IterationCertificate;

struct TrainFlags {
  NetworkFlags network;
  std::string model_file;
  std::uint32_t parameter_bytes = 4;
  std::string algorithm = "allreduce-optimal", simulator = "message", policies, output, check;
  std::string call = "0us", alpha;
  double beta = -1;
  bool json = false;
};

training::Model load_model(const TrainFlags& flags) {
  return training::read_model(flags.model_file, flags.parameter_bytes);
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f}ms", seconds * 1e3); }

/// What binds an iteration, in words.
std::string words_of(const training::IterationBound& bound, const training::Model& model) {
  if (bound.layers == 0) return "computing";
  return fmt::format("gradients of the first {} of {} layers, to '{}'", bound.layers,
                     model.layers.size(), model.layers[bound.layers - 1].name);
}

ordered_json json_of(const training::IterationBound& bound, const training::Model& model) {
  return {{"seconds", bound.seconds},
          {"front_layers", bound.layers},
          {"computing_seconds", model.forward() + model.backward()}};
}

/// Evaluates a certificate file, on its own network or on another.
int check_bound(const TrainFlags& flags) {
  const training::IterationCertificateFile file =
      training::parse_iteration_certificate(read_file(flags.check), flags.check);
  const Topology topology =
      flags.network.topology.empty() ? file.topology : load_network(flags.network);
  const training::Model model = load_model(flags);
  const std::vector<std::string> wrong = check(file.certificate, model, topology);
  if (flags.json) {
    print_json({{"ok", wrong.empty()}, {"violations", wrong}});
  } else {
    for (const std::string& line : wrong) print(line + "\n");
    print(fmt::format("{}: an iteration of {} on {} takes at least {}\n",
                      wrong.empty() ? "proved" : "NOT PROVED", model.name, topology.name(),
                      milliseconds(file.certificate.bound.seconds)));
  }
  return wrong.empty() ? kOk : kNegativeAnswer;
}

/// The network of a command that cannot do without.
Topology needed_network(const TrainFlags& flags) {
  if (!flags.network.topology.empty()) return load_network(flags.network);
  throw Error(ErrorCode::InvalidArgument, "train: expected --topology, got none");
}

int run_bound(const TrainFlags& flags) {
  if (!flags.check.empty()) return check_bound(flags);
  const Topology topology = needed_network(flags);
  const training::Model model = load_model(flags);
  const Progress progress("bounding iterations on " + topology.name());
  const IterationCertificate certificate = certify_iteration(model, topology);
  if (!flags.output.empty()) {
    write_file(flags.output, write_json(certificate, topology));
    if (flags.output == "-") return kOk;
  }
  if (flags.json) {
    print_json(json_of(certificate.bound, model));
  } else {
    print(fmt::format("# {} on {}: {} layers, {}, computing {}\n{} at least: {}\n", model.name,
                      topology.name(), model.layers.size(), format_bytes(model.bytes()),
                      milliseconds(model.forward() + model.backward()),
                      milliseconds(certificate.bound.seconds), words_of(certificate.bound, model)));
  }
  return kOk;
}

struct Outcome {
  std::string policy;
  Iteration iteration;
};

std::vector<std::string> chosen_policies(const TrainFlags& flags) {
  if (!flags.policies.empty()) return split_list(flags.policies);
  std::vector<std::string> all;
  for (const training::Policy& policy : training::policies()) all.emplace_back(policy.name);
  return all;
}

/// Time of the iteration that communication is not hidden in.
double exposed(const Iteration& iteration, const training::Model& model) {
  return std::max(0.0, iteration.seconds - model.forward() - model.backward());
}

/// What policies are compared on.
struct Setting {
  std::string name;
  Costs costs;
  training::IterationBound bound;
};

/// Costs as the flags say them, without a network.
Setting stated_setting(const TrainFlags& flags, const training::Model& model, double call) {
  if (!flags.network.topology.empty() || flags.alpha.empty() || flags.beta < 0) {
    throw Error(ErrorCode::InvalidArgument,
                "train compare: expected either --topology, or both --alpha and --beta");
  }
  const double alpha = for_flag("--alpha", [&] { return parse_time(flags.alpha); }).seconds();
  return {fmt::format("all-reduce of {} and {:.6g} ns/B", flags.alpha, flags.beta * 1e9),
          Costs::symmetric({alpha, flags.beta}, call), iteration_bound(model, flags.beta)};
}

Setting network_setting(const TrainFlags& flags, const training::Model& model, double call) {
  const Topology topology = needed_network(flags);
  const nic::Model simulator =
      for_flag("--network-model", [&] { return nic::parse_model(flags.simulator); });
  const Progress progress("iterations of " + model.name + " on " + topology.name());
  const Costs costs = training::network_costs(topology, flags.algorithm, simulator, call);
  return {fmt::format("{}, {}: all-reduce of {} and {:.6g} ns/B", topology.name(), flags.algorithm,
                      milliseconds(costs.all_reduce.start), costs.all_reduce.per_byte * 1e9),
          costs, certify_iteration(model, topology).bound};
}

void print_outcomes(const std::vector<Outcome>& outcomes, const Setting& setting,
                    const training::Model& model) {
  print(fmt::format("# {} on {}\n# {} layers, {}, computing {}; at least {}: {}\n", model.name,
                    setting.name, model.layers.size(), format_bytes(model.bytes()),
                    milliseconds(model.forward() + model.backward()),
                    milliseconds(setting.bound.seconds), words_of(setting.bound, model)));
  std::vector<std::vector<std::string>> rows = {
      {"policy", "iteration", "over bound", "exposed", "transfers"}};
  for (const Outcome& outcome : outcomes) {
    rows.push_back({outcome.policy, milliseconds(outcome.iteration.seconds),
                    fmt::format("{:.3f}", outcome.iteration.seconds / setting.bound.seconds),
                    milliseconds(exposed(outcome.iteration, model)),
                    fmt::format("{}", outcome.iteration.transfers.size())});
  }
  print(format_table(rows));
}

ordered_json json_of(const std::vector<Outcome>& outcomes, const Setting& setting,
                     const training::Model& model) {
  ordered_json json = {{"model", model.name},
                       {"bytes", model.bytes()},
                       {"bound", json_of(setting.bound, model)},
                       {"all_reduce",
                        {{"start_seconds", setting.costs.all_reduce.start},
                         {"seconds_per_byte", setting.costs.all_reduce.per_byte}}},
                       {"policies", ordered_json::array()}};
  for (const Outcome& outcome : outcomes) {
    json["policies"].push_back({{"policy", outcome.policy},
                                {"seconds", outcome.iteration.seconds},
                                {"exposed_seconds", exposed(outcome.iteration, model)},
                                {"transfers", outcome.iteration.transfers.size()}});
  }
  return json;
}

int run_compare(const TrainFlags& flags) {
  const training::Model model = load_model(flags);
  const double call = for_flag("--call", [&] { return parse_time(flags.call); }).seconds();
  const bool stated = !flags.alpha.empty() || flags.beta >= 0;
  const Setting setting =
      stated ? stated_setting(flags, model, call) : network_setting(flags, model, call);
  std::vector<Outcome> outcomes;
  for (const std::string& policy : chosen_policies(flags)) {
    outcomes.push_back({policy, for_flag("--policies", [&] {
                          return training::simulate(policy, model, setting.costs);
                        })});
  }
  flags.json ? print_json(json_of(outcomes, setting, model))
             : print_outcomes(outcomes, setting, model);
  return kOk;
}

void add_model_flags(CLI::App& app, TrainFlags& flags) {
  add_network_flags(app, flags.network)->required(false);
  app.add_option("-m,--model", flags.model_file,
                 "Layer table: lines name,params,forward,backward ('-': standard input)")
      ->required();
  app.add_option("--parameter-bytes", flags.parameter_bytes, "Bytes of a gradient")
      ->check(number_from(1, 16))
      ->capture_default_str();
  app.add_flag("--json", flags.json, "Print JSON");
}

Command add_bound(CLI::App& parent) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* app = parent.add_subcommand("bound", "The least time of an iteration, with a proof");
  add_model_flags(*app, *flags);
  app->add_option("-o,--output", flags->output,
                  "Write the certificate here ('-': standard output)");
  app->add_option(
      "--check", flags->check,
      "Check a certificate file instead, on its own network unless --topology is given");
  return {app, [flags] { return run_bound(*flags); }};
}

Command add_compare(CLI::App& parent) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* app =
      parent.add_subcommand("compare", "Iterations under each policy, beside the bound");
  add_model_flags(*app, *flags);
  app->add_option("-p,--policies", flags->policies,
                  "Policies with their options, separated by commas (default: all)");
  app->add_option("-a,--algorithm", flags->algorithm, "Of the collectives")->capture_default_str();
  app->add_option("--network-model", flags->simulator, "alphabeta, message or flit")
      ->capture_default_str();
  app->add_option("--alpha", flags->alpha,
                  "Instead of a network: what an all-reduce takes at any size");
  app->add_option("--beta", flags->beta, "and in seconds for each byte; its halves take half of it")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--call", flags->call, "What it takes to start a collective")
      ->capture_default_str();
  return {app, [flags] { return run_compare(*flags); }};
}

}  // namespace

Command add_train_command(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "train", "Iterations of training: the least time, and what policies take");
  app->require_subcommand(1);
  app->footer(
      "Example: printf 'name,params,forward,backward\\nfc,4000000,1ms,2ms\\n' | multitree train "
      "compare -t mesh:8x8 --model -");
  const std::vector<Command> commands = {add_bound(*app), add_compare(*app)};
  return {app, [commands] {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return static_cast<int>(kUsage);
          }};
}

}  // namespace multitree::tools
