// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The program `multitree`: picks a command.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/command.hpp"
#include "tools/program.hpp"
#include "tools/usage_words.hpp"
#include "topologies/words.hpp"

namespace {

using namespace multitree;

constexpr const char* kFooter =
    "Exit codes: 0 ok, 1 negative answer (a schedule does not verify, a result is wrong), 2 "
    "usage,\n"
    "3 input or I/O, 4 transport.\n\n"
    "Example: multitree schedule -t torus:4x4 -a multitree | multitree verify -\n";

/// What was typed, in the words that the commands know: "help run" is "run --help", and mpirun's
/// "-np 4" is "--np 4".
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  std::ranges::replace(words, "-np", "--np");
  return words;
}

/// Says what CLI11 would not: which commands there are.
void check_command(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string word = words.empty() ? "" : words.front();
  const bool known = std::ranges::find(names, word) != names.end();
  if (known || word == "-h" || word == "--help" || word == "--version") return;
  const std::vector<std::string_view> all(names.begin(), names.end());
  std::string hint = word == "study" ? "" : tools::deeper_command(app, word);
  if (word.starts_with('-')) {
    const std::vector<std::string_view> flags{"--help", "--version"};
    hint = did_you_mean(word, flags);
  } else if (hint.empty() && word != "study") {
    hint = did_you_mean(word, all);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a command ({}), got {}{}; see '{} --help'",
                          fmt::join(names, ", "), words.empty() ? "none" : "'" + word + "'", hint,
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
      tools::add_tune_command(app),     tools::add_train_command(app),
      tools::add_view_command(app),     tools::add_explain_command(app),
      tools::add_design_command(app),   tools::add_explore_command(app),
      tools::add_status_command(app),   tools::add_postmortem_command(app),
      tools::add_cluster_command(app),  tools::add_completion_command(app),
      tools::add_manual_command(app)};
  const std::vector<std::string> words = words_of(argc, argv);
  check_command(app, words);
  try {
    // CLI11 takes a list from its end.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return tools::usage_error(app, error);
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
