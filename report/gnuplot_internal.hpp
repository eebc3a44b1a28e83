// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Runs the program gnuplot.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace multitree::report {

/// A string literal of gnuplot in which nothing is special. `text` is one line.
std::string gnuplot_quote(std::string_view text);

/// What gnuplot prints to standard output for a script. It sees neither the user's settings nor
/// the locale. \throws Error(Unsupported) if it is not installed, Error(Io) with its message if it
/// fails, Error(Timeout) if it needs longer than `deadline`, after which it is killed.
std::string run_gnuplot(const std::string& script,
                        std::chrono::milliseconds deadline = std::chrono::seconds(60));

}  // namespace multitree::report
