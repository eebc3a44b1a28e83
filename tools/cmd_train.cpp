// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train`: iterations of training on a network, under policies of communication.
#include "tools/train/setting.hpp"

#include <map>
#include <string>

namespace multitree::tools {
namespace {

// How each command is called.
std::string example_of(const std::string& command) {
  const std::string plan = "multitree train plan -t mesh:4x4 -m lenet5 -o plan.json";
  const std::map<std::string, std::string> examples = {
      {"bound", "multitree train bound -t mesh:4x4 -m lenet5"},
      {"plan", plan},
      {"simulate", plan + " && multitree train simulate plan.json"},
      {"run", "multitree train run --learner logistic -t ring:2 -n 5"},
      {"compare",
       "printf 'name,params,forward,backward\\nfc,4000000,1ms,2ms\\n' | multitree train compare -t "
       "mesh:8x8 --model -"},
      {"study", "multitree train study -t ring:4 --learners logistic --compress none --seeds 1"},
      {"dlcp", "multitree train dlcp -b 64KiB,256KiB"},
      {"lossy", "multitree train lossy -t torus:2x2 -a multitree --loss 0.1 --seeds 1 -n 20"}};
  return "Example: " + examples.at(command);
}

}  // namespace

Command add_train_command(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "train", "Iterations of training: the least time, and what policies take");
  app->require_subcommand(1);
  app->footer(example_of("compare"));
  const std::vector<Command> commands = {add_train_bound(*app),    add_train_plan(*app),
                                         add_train_simulate(*app), add_train_run(*app),
                                         add_train_compare(*app),  add_train_study(*app),
                                         add_train_dlcp(*app),     add_train_lossy(*app)};
  for (const Command& command : commands) {
    command.app->footer(example_of(command.app->get_name()));
  }
  return {app, [commands] {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return static_cast<int>(kUsage);
          }};
}

}  // namespace multitree::tools
