// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train`: iterations of training on a network, under policies of communication.
#include "tools/train/setting.hpp"

namespace multitree::tools {

Command add_train_command(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "train", "Iterations of training: the least time, and what policies take");
  app->require_subcommand(1);
  app->footer(
      "Example: printf 'name,params,forward,backward\\nfc,4000000,1ms,2ms\\n' | multitree train "
      "compare -t mesh:8x8 --model -");
  const std::vector<Command> commands = {add_train_bound(*app),    add_train_plan(*app),
                                         add_train_simulate(*app), add_train_run(*app),
                                         add_train_compare(*app),  add_train_study(*app),
                                         add_train_dlcp(*app),     add_train_lossy(*app)};
  return {app, [commands] {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return static_cast<int>(kUsage);
          }};
}

}  // namespace multitree::tools
