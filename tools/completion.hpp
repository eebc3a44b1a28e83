// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What shells and man pages are told of the commands, from the same flags that parse what is
/// typed.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace multitree::tools {

/// The command of that name below `command`, or null.
const CLI::App* command_named(const CLI::App& command, const std::string& name);

/// A word that may stand where one is being typed.
struct Candidate {
  std::string word, summary;
};

/// What the last of `words` may become, `words` being what was typed after the program's name: a
/// command, a flag of it, or a name that the flag before takes, also as the next of a list with
/// commas. Empty where a file or a number is expected.
std::vector<Candidate> complete(const CLI::App& program, std::span<const std::string> words);

/// The script that makes a shell ask `multitree completion words`. \throws Error(InvalidArgument)
/// for another shell than bash, zsh and fish.
std::string_view completion_script(std::string_view shell);

/// The man page (section 1, man(7) macros) of a command or of the program itself; `path` is what is
/// typed for it, as in "multitree nic cosim".
std::string man_page(const CLI::App& command, const std::string& path);

}  // namespace multitree::tools
