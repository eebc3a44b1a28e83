// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree completion` and `multitree manual`: what shells, man and readers of JSON ask for.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "tools/command.hpp"
#include "tools/completion.hpp"
#include "topologies/io/files.hpp"

namespace multitree::embedded {
extern const std::span<const std::pair<std::string_view, std::string_view>> json_schemas;
}  // namespace multitree::embedded

namespace multitree::tools {
namespace {

namespace fs = std::filesystem;

/// Writes the page of a command and of all below it into `folder`.
void write_pages(const CLI::App& command, const std::string& path, const fs::path& folder) {
  std::string name = path;
  std::ranges::replace(name, ' ', '-');
  write_file(folder / (name + ".1"), man_page(command, path));
  for (const CLI::App* inner : command.get_subcommands({})) {
    write_pages(*inner, path + " " + inner->get_name(), folder);
  }
}

/// The page of the command that `words` name. \throws Error(InvalidArgument).
std::string page_of(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  std::string path = program.get_name();
  for (const std::string& word : words) {
    const CLI::App* inner = command_named(*command, word);
    if (inner == nullptr) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("manual: expected a command of '{}', got '{}'; see '{} --help'", path,
                              word, path));
    }
    command = inner;
    path += " " + word;
  }
  return man_page(*command, path);
}

/// What --json of the command that `words` name prints. \throws Error(InvalidArgument).
std::string_view schema_of(const std::vector<std::string>& words) {
  const std::string wanted = fmt::format("{}", fmt::join(words, "-"));
  std::vector<std::string> names;
  for (const auto& [name, text] : embedded::json_schemas) {
    if (name == wanted) return text;
    names.emplace_back(name);
    std::ranges::replace(names.back(), '-', ' ');
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--json-schema: expected a command with --json ({}), got {}",
                          fmt::join(names, ", "),
                          words.empty() ? "none" : fmt::format("'{}'", fmt::join(words, " "))));
}

void write_schemas(const fs::path& folder) {
  for (const auto& [name, text] : embedded::json_schemas) {
    write_file(folder / fmt::format("{}.json", name), text);
  }
}

}  // namespace

Command add_completion_command(CLI::App& parent) {
  struct Flags {
    std::string what;
    std::vector<std::string> words;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app =
      parent.add_subcommand("completion", "A script with which a shell completes words");
  app->add_option("shell", flags->what,
                  "bash, zsh or fish; 'words -- WORD...': what the last word may become")
      ->required()
      ->check(one_of({"bash", "zsh", "fish", "words"}));
  app->add_option("words", flags->words, "What was typed so far, of 'words'");
  app->footer(
      "In ~/.bashrc: source <(multitree completion bash)\n"
      "Example: multitree completion words -- schedule -t tor");
  return {app, [flags, program = &parent] {
            if (flags->what != "words") {
              print(completion_script(flags->what));
              return static_cast<int>(kOk);
            }
            std::string text;
            for (const Candidate& row : complete(*program, flags->words)) {
              text += row.word + (row.summary.empty() ? "" : "\t" + row.summary) + "\n";
            }
            print(text);
            return static_cast<int>(kOk);
          }};
}

Command add_manual_command(CLI::App& parent) {
  struct Flags {
    std::vector<std::string> words;
    std::string output;
    bool schema = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app = parent.add_subcommand("manual", "The man page of the program or of a command");
  app->add_option("command", flags->words, "Of this command, as in: nic cosim");
  app->add_flag("--json-schema", flags->schema,
                "Instead: the JSON schema of what the command prints with --json");
  app->add_option("-o,--output", flags->output, "Write those of all commands into this folder");
  app->footer("To read one: multitree manual nic cosim | man -l -\nExample: multitree manual run");
  return {app, [flags, program = &parent] {
            if (flags->output.empty()) {
              print(flags->schema ? std::string(schema_of(flags->words))
                                  : page_of(*program, flags->words));
              return static_cast<int>(kOk);
            }
            std::error_code error;
            fs::create_directories(flags->output, error);
            flags->schema ? write_schemas(flags->output)
                          : write_pages(*program, program->get_name(), flags->output);
            return static_cast<int>(kOk);
          }};
}

}  // namespace multitree::tools
