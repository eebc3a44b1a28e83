// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The program `multitree`: picks a command.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/command.hpp"
#include "tools/program.hpp"

namespace {

using namespace multitree;

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 negative answer (a schedule does not verify, a result is wrong), 2 "
    "usage,\n"
    "3 input or I/O, 4 transport.\n\n"
    "Example: multitree schedule -t torus:4x4 -a multitree | multitree verify -\n";

/// Says what CLI11 would not: which commands there are.
void check_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string word = argc > 1 ? argv[1] : "";
  const bool known = std::ranges::find(names, word) != names.end();
  if (known || word == "-h" || word == "--help" || word == "--version") return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a command ({}), got {}; see '{} --help'",
                          fmt::join(names, ", "), argc > 1 ? "'" + word + "'" : "none",
                          word == "study" ? "multitree-study" : "multitree"));
}

int run(int argc, char** argv) {
  CLI::App app("Topology-aware all-reduce: make schedules, prove them, run them.", "multitree");
  app.set_version_flag("--version", "multitree " MULTITREE_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  const std::vector<tools::Command> commands = {
      tools::add_topology_command(app), tools::add_bounds_command(app),
      tools::add_schedule_command(app), tools::add_verify_command(app),
      tools::add_run_command(app),      tools::add_export_command(app),
      tools::add_import_command(app),   tools::add_replan_command(app),
      tools::add_list_command(app),     tools::add_symmetric_command(app),
      tools::add_nic_command(app),      tools::add_simulate_command(app),
      tools::add_tune_command(app),     tools::add_train_command(app)};
  check_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    const auto parsed = app.get_subcommands();
    const std::string name = parsed.empty() ? "" : " " + parsed.front()->get_name();
    return tools::usage_error("multitree", "multitree" + name, error);
  }
  for (const tools::Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return tools::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_program("multitree", [&] { return run(argc, argv); });
}
