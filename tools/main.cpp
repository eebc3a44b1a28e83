// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The program `multitree`: picks a command, and turns every error into a message and an exit code.
#include <fmt/format.h>

#include <exception>
#include <new>
#include <vector>

#include "tools/command.hpp"

namespace {

using namespace multitree;

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 negative answer (a schedule does not verify, a result is wrong), 2 "
    "usage,\n"
    "3 input or I/O, 4 transport.\n\n"
    "Example: multitree schedule -t torus:4x4 -a multitree | multitree verify -\n";

int run(int argc, char** argv) {
  CLI::App app("Topology-aware all-reduce: make schedules, prove them, run them.", "multitree");
  app.set_version_flag("--version", "multitree " MULTITREE_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  const std::vector<tools::Command> commands = {
      tools::add_topology_command(app), tools::add_schedule_command(app),
      tools::add_verify_command(app),   tools::add_run_command(app),
      tools::add_export_command(app),   tools::add_list_command(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    tools::print_error(fmt::format("multitree: {}\nTry 'multitree --help'.\n", error.what()));
    return tools::kUsage;
  }
  for (const tools::Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return tools::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    tools::print_error(fmt::format("multitree: {}\n", error.what()));
    return tools::exit_code_of(error.code());
  } catch (const std::bad_alloc&) {
    tools::print_error("multitree: out of memory\n");
    return tools::kInput;
  } catch (const std::exception& error) {
    tools::print_error(
        fmt::format("multitree: internal error, please report it: {}\n", error.what()));
    return tools::kTransport;
  }
}
