// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the programs share: errors become a message and an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace multitree::tools {

/// Runs the body of a program's main(). What it throws is one line on standard error, after the
/// program's name, and an exit code.
int run_program(std::string_view name, const std::function<int()>& body);

/// Says what is wrong with the flags of the command of `app` that was called, all that is missing
/// and which name may have been meant, and where to read about them.
int usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace multitree::tools
