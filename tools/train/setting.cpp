// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Models, networks and costs from flags.
#include "tools/train/setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/progress.hpp"
#include "topologies/units.hpp"
#include "training/network_costs.hpp"
#include "training/policies.hpp"

namespace multitree::tools {
namespace {

using training::Costs;

/// Operations a second: a number, with K, M, G, T or P if that is shorter.
double parse_rate(const std::string& text) {
  constexpr std::string_view kUnits = "KMGTP";
  std::size_t used = 0;
  double rate = 0;
  try {
    rate = std::stod(text, &used);
  } catch (const std::logic_error&) {  // told below
  }
  if (used + 1 == text.size() && kUnits.find(text.back()) != kUnits.npos) {
    rate *= std::pow(1000.0, static_cast<double>(kUnits.find(text.back()) + 1));
    ++used;
  }
  if (used == text.size() && rate > 0 && std::isfinite(rate)) return rate;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a number above 0, as 45T, got '{}'", text));
}

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

Setting network_setting(const TrainFlags& flags, const training::Model& model, double call,
                        const std::vector<std::string>& policies) {
  const Topology topology = load_whole_network(flags.network);
  const nic::Model simulator =
      for_flag("--network-model", [&] { return nic::parse_model(flags.simulator); });
  const Progress progress("iterations of " + model.name + " on " + topology.name());
  const bool halves = std::ranges::any_of(policies, training::has_halves);
  const Costs costs = training::network_costs(topology, flags.algorithm, simulator, call, halves);
  return {fmt::format("{}, {}: all-reduce of {} and {:.6g} ns/B", topology.name(), flags.algorithm,
                      milliseconds(costs.all_reduce.start), costs.all_reduce.per_byte * 1e9),
          costs, certify_iteration(model, topology).bound};
}

std::string built_in_names() {
  std::string names;
  for (const std::string_view name : training::built_in_models()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace

bool has_reference_machine(const TrainFlags& flags) {
  return flags.flops.empty() && flags.memory.empty() && flags.launch.empty() &&
         !training::built_in_table(flags.model_file).empty() &&
         !std::filesystem::exists(flags.model_file);
}

std::string words_of_machine(const TrainFlags& flags) {
  if (!has_reference_machine(flags)) return "";
  const training::Machine machine = training::reference_machine();
  return fmt::format("# computed at {:.0f} Tflop/s, {:.0f} us to start a pass, {} samples a rank\n",
                     machine.flops * 1e-12, machine.launch * 1e6, flags.machine.batch);
}

training::Model load_model(const TrainFlags& flags) {
  training::Machine machine = flags.machine;
  if (has_reference_machine(flags)) {
    machine.flops = training::reference_machine().flops;
    machine.launch = training::reference_machine().launch;
  }
  if (!flags.flops.empty()) {
    machine.flops = for_flag("--flops", [&] { return parse_rate(flags.flops); });
  }
  if (!flags.memory.empty()) {
    machine.memory = for_flag("--memory", [&] {
      return static_cast<double>(parse_bandwidth(flags.memory).bytes_per_second);
    });
  }
  if (!flags.launch.empty()) {
    machine.launch = for_flag("--launch", [&] { return parse_time(flags.launch); }).seconds();
  }
  return training::read_model(flags.model_file, machine);
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f}ms", seconds * 1e3); }

std::string words_of(const training::IterationBound& bound, const training::Model& model) {
  if (bound.layers == 0) return "computing";
  return fmt::format("gradients of the first {} of {} layers, to '{}'", bound.layers,
                     model.layers.size(), model.layers[bound.layers - 1].name);
}

nlohmann::ordered_json bound_json(const training::IterationBound& bound,
                                  const training::Model& model) {
  return {{"seconds", bound.seconds},
          {"front_layers", bound.layers},
          {"computing_seconds", model.forward() + model.backward()}};
}

Setting setting_of(const TrainFlags& flags, const training::Model& model,
                   const std::vector<std::string>& policies) {
  const double call = for_flag("--call", [&] { return parse_time(flags.call); }).seconds();
  const bool stated = !flags.alpha.empty() || flags.beta >= 0;
  return stated ? stated_setting(flags, model, call)
                : network_setting(flags, model, call, policies);
}

CLI::Option* add_model_flags(CLI::App& app, TrainFlags& flags) {
  add_network_flags(app, flags.network)->required(false);
  CLI::Option* model =
      app.add_option("-m,--model", flags.model_file,
                     "Layer table with times, multiplications or shapes, ASTRA-sim text, or a "
                     "rank's Chakra trace ('-': standard input); or a network that is built in: " +
                         built_in_names());
  model->required();
  app.add_option("--parameter-bytes", flags.machine.parameter_bytes, "Bytes of a gradient")
      ->check(number_from(1, 16))
      ->capture_default_str();
  app.add_option("--batch", flags.machine.batch, "Samples a rank, for tables without times")
      ->check(number_from(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--flops", flags.flops,
                 "Operations a second, for tables of multiplications: 45T, 312e12; built-in "
                 "models without it are computed at 45T with --launch 12us");
  app.add_option("--memory", flags.memory, "And what memory moves, if it counts: 900GB/s");
  app.add_option("--launch", flags.launch,
                 "And what it takes to start a layer's forward or backward pass: 12us");
  app.add_flag("--json", flags.json, "Print JSON");
  return model;
}

void add_simulator_flag(CLI::App& app, TrainFlags& flags) {
  app.add_option("--network-model", flags.simulator, "alphabeta, message or flit")
      ->capture_default_str();
}

void add_cost_flags(CLI::App& app, TrainFlags& flags) {
  app.add_option("-a,--algorithm", flags.algorithm, "Of the collectives")->capture_default_str();
  add_simulator_flag(app, flags);
  app.add_option("--call", flags.call, "What it takes to start a collective")
      ->capture_default_str();
}

void add_stated_cost_flags(CLI::App& app, TrainFlags& flags) {
  app.add_option("--alpha", flags.alpha,
                 "Instead of a network: what an all-reduce takes at any size");
  app.add_option("--beta", flags.beta, "and in seconds for each byte; its halves take half of it")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace multitree::tools
