// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the subcommands of `multitree train` share: the model, the network, and what its
/// collectives cost.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/command.hpp"
#include "training/bound.hpp"
#include "training/costs.hpp"
#include "training/iteration.hpp"
#include "training/model.hpp"

namespace multitree::tools {

struct TrainFlags {
  NetworkFlags network;
  std::string model_file;
  training::Machine machine;
  std::string flops, memory, launch;
  std::string algorithm = "allreduce-optimal", simulator = "message";
  std::string call = "0us", alpha;
  double beta = -1;
  bool json = false;
};

/// Flags of all, and of those that need costs.
/// \{
/// \returns --model, which is required
CLI::Option* add_model_flags(CLI::App& app, TrainFlags& flags);
void add_simulator_flag(CLI::App& app, TrainFlags& flags);
void add_cost_flags(CLI::App& app, TrainFlags& flags);
/// --alpha and --beta, in the place of a network.
void add_stated_cost_flags(CLI::App& app, TrainFlags& flags);
/// \}

/// Whether the model is a built-in one, and no flag says how fast it is computed.
bool has_reference_machine(const TrainFlags& flags);
/// What is taken then, a line of a table's head; else "".
std::string words_of_machine(const TrainFlags& flags);
training::Model load_model(const TrainFlags& flags);

/// Of the flag --refine, wherever there is one.
inline constexpr const char* kRefineWords =
    "As --simulate, with the order, and schedules in as fine pieces, that take least; up to twelve "
    "simulations a plan";

/// What policies are compared on.
struct Setting {
  std::string name;
  training::Costs costs;
  training::IterationBound bound;
};
/// As the flags say it, or of the network, for these policies.
Setting setting_of(const TrainFlags& flags, const training::Model& model,
                   const std::vector<std::string>& policies);

/// "57.312ms".
std::string milliseconds(double seconds);
/// What binds an iteration, in words.
std::string words_of(const training::IterationBound& bound, const training::Model& model);
nlohmann::ordered_json bound_json(const training::IterationBound& bound,
                                  const training::Model& model);

Command add_train_bound(CLI::App& train);
Command add_train_compare(CLI::App& train);
Command add_train_plan(CLI::App& train);
Command add_train_simulate(CLI::App& train);
Command add_train_run(CLI::App& train);
Command add_train_dlcp(CLI::App& train);
Command add_train_lossy(CLI::App& train);
Command add_train_study(CLI::App& train);

}  // namespace multitree::tools
