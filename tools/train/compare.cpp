// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train compare`: iterations under each policy, beside the bound.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/progress.hpp"
#include "tools/train/setting.hpp"
#include "topologies/units.hpp"
#include "training/plan.hpp"
#include "training/policies.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using training::Iteration;

struct CompareFlags : TrainFlags {
  std::string policies;
  bool simulate = false, refine = false;
};

struct Outcome {
  std::string policy;
  Iteration iteration;
  std::optional<double> simulated = {};  ///< seconds
  bool bound_holds = true;               ///< whether it does what the bound is for
};

std::vector<std::string> chosen_policies(const CompareFlags& flags) {
  if (!flags.policies.empty()) return split_list(flags.policies);
  std::vector<std::string> all;
  for (const training::Policy& policy : training::policies()) all.emplace_back(policy.name);
  return all;
}

/// Time of the iteration that communication is not hidden in.
double exposed(const Iteration& iteration, const training::Model& model) {
  return std::max(0.0, iteration.seconds - model.forward() - model.backward());
}

std::string over_bound(const Outcome& outcome, double seconds, const Setting& setting) {
  return outcome.bound_holds ? fmt::format("{:.3f}", seconds / setting.bound.seconds) : "-";
}

void print_outcomes(const std::vector<Outcome>& outcomes, const Setting& setting,
                    const training::Model& model) {
  print(fmt::format("# {} on {}\n# {} layers, {}, computing {}; at least {}: {}\n", model.name,
                    setting.name, model.layers.size(), format_bytes(model.bytes()),
                    milliseconds(model.forward() + model.backward()),
                    milliseconds(setting.bound.seconds), words_of(setting.bound, model)));
  std::vector<std::vector<std::string>> rows = {
      {"policy", "iteration", "over bound", "exposed", "transfers"}};
  const bool simulated =
      std::ranges::any_of(outcomes, [](const Outcome& o) { return o.simulated.has_value(); });
  if (simulated) rows[0].insert(rows[0].end(), {"simulated", "over bound"});
  for (const Outcome& outcome : outcomes) {
    rows.push_back({outcome.policy, milliseconds(outcome.iteration.seconds),
                    over_bound(outcome, outcome.iteration.seconds, setting),
                    milliseconds(exposed(outcome.iteration, model)),
                    fmt::format("{}", outcome.iteration.transfers.size())});
    if (!simulated) continue;
    rows.back().push_back(outcome.simulated ? milliseconds(*outcome.simulated) : "-");
    rows.back().push_back(outcome.simulated ? over_bound(outcome, *outcome.simulated, setting)
                                            : "-");
  }
  print(format_table(rows));
}

ordered_json json_of(const std::vector<Outcome>& outcomes, const Setting& setting,
                     const training::Model& model) {
  ordered_json json = {{"model", model.name},
                       {"bytes", model.bytes()},
                       {"bound", bound_json(setting.bound, model)},
                       {"all_reduce",
                        {{"start_seconds", setting.costs.all_reduce.start},
                         {"seconds_per_byte", setting.costs.all_reduce.per_byte}}},
                       {"policies", ordered_json::array()}};
  for (const Outcome& outcome : outcomes) {
    json["policies"].push_back({{"policy", outcome.policy},
                                {"seconds", outcome.iteration.seconds},
                                {"exposed_seconds", exposed(outcome.iteration, model)},
                                {"transfers", outcome.iteration.transfers.size()}});
    if (outcome.simulated) json["policies"].back()["simulated_seconds"] = *outcome.simulated;
  }
  return json;
}

std::vector<Outcome> outcomes_of(const CompareFlags& flags, const training::Model& model,
                                 const Setting& setting) {
  std::optional<Topology> topology;
  if (flags.simulate || flags.refine) topology = load_whole_network(flags.network);
  const nic::Model simulator =
      for_flag("--network-model", [&] { return nic::parse_model(flags.simulator); });
  std::vector<Outcome> outcomes;
  Progress progress("iterations of " + model.name);
  const auto policies = chosen_policies(flags);
  for (const std::string& policy : policies) {
    progress.update("iterations of " + model.name + " under " + policy,
                    static_cast<double>(outcomes.size()) / static_cast<double>(policies.size()));
    Outcome outcome{policy, for_flag("--policies", [&] {
                      return training::simulate(policy, model, setting.costs);
                    })};
    outcome.bound_holds = outcome.iteration.synchronous;
    if (topology && outcome.iteration.plannable) {
      const training::Plan plan =
          training::make_plan(policy, model, setting.costs, flags.algorithm);
      outcome.simulated = flags.refine ? refine_plan(plan, setting.costs, *topology, simulator,
                                                     setting.bound.seconds)
                                             .times.seconds
                                       : simulate_plan(plan, *topology, simulator).seconds;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

int run_compare(const CompareFlags& flags) {
  const training::Model model = load_model(flags);
  const Setting setting = setting_of(flags, model, chosen_policies(flags));
  const std::vector<Outcome> outcomes = outcomes_of(flags, model, setting);
  if (!flags.json) print(words_of_machine(flags));
  flags.json ? print_json(json_of(outcomes, setting, model))
             : print_outcomes(outcomes, setting, model);
  return kOk;
}

}  // namespace

Command add_train_compare(CLI::App& train) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* app = train.add_subcommand("compare", "Iterations under each policy, beside the bound");
  add_model_flags(*app, *flags);
  app->add_option("-p,--policies", flags->policies,
                  "Policies with their options, separated by commas (default: all)");
  add_cost_flags(*app, *flags);
  add_stated_cost_flags(*app, *flags);
  app->add_flag("--simulate", flags->simulate,
                "Also simulate all transfers and passes of each policy's plan on the network");
  app->add_flag("--refine", flags->refine, kRefineWords);
  return {app, [flags] { return run_compare(*flags); }};
}

}  // namespace multitree::tools
