// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is wrong with the words of a command line, and what was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace multitree::tools {

/// One sentence for what CLI11 has against what `command`, the innermost one, was given.
std::string usage_words(const CLI::App& command, const CLI::ParseError& error);

/// "; did you mean 'topology discover'?": of the commands below those of `app`, those named `word`;
/// empty if there is none.
std::string deeper_command(const CLI::App& app, const std::string& word);

}  // namespace multitree::tools
