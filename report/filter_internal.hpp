// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs a program that turns what it reads into what it writes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace multitree::report {

struct Filter {
  std::vector<std::string> command;  ///< the program and its arguments
  std::string purpose;               ///< "figures are drawn"
  std::string package;               ///< Debian's
};

/// What it prints to standard output. It sees neither the user's settings nor the locale. \throws
/// Error(Unsupported) if it is not installed, Error(Io) with its message if it fails,
/// Error(Timeout) if it needs longer than `deadline`, after which it is killed.
std::string run_filter(const Filter& filter, const std::string& input,
                       std::chrono::milliseconds deadline = std::chrono::seconds(60));

}  // namespace multitree::report
