// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The program `multitree`: picks a command, and turns every error into a message and an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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

/// Keeps sockets and files from taking the number of a standard stream that is closed. Opened the
/// wrong way round, it still fails when used.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// Says what CLI11 would not: which commands there are.
void check_command(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string word = argc > 1 ? argv[1] : "";
  const bool known = std::ranges::find(names, word) != names.end();
  if (known || word == "-h" || word == "--help" || word == "--version") return;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a command ({}), got {}; see 'multitree --help'",
                          fmt::join(names, ", "), argc > 1 ? "'" + word + "'" : "none"));
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto parsed = app.get_subcommands();
  tools::print_error(fmt::format("multitree: {}; see 'multitree {}--help'\n",
                                 tools::one_line(error.what()),
                                 parsed.empty() ? "" : parsed.front()->get_name() + " "));
  return tools::kUsage;
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
      tools::add_tune_command(app)};
  check_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  for (const tools::Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return tools::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    tools::print_error(fmt::format("multitree: {}\n", tools::one_line(error.what())));
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
