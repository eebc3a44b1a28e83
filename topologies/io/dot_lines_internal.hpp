// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Places in a DOT text, which Boost's parser does not tell.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace multitree {

/// Refuses nesting of braces that would exhaust the stack of Boost's recursive parser.
/// \throws Error(InvalidInput).
void check_dot_nesting(std::string_view text, const std::string& file);

/// Refuses what the parser would take for a number and a word behind it: `1e9`, `3a`.
/// \throws Error(InvalidInput).
void check_dot_numbers(std::string_view text, const std::string& file);

/// Line at which the parser gives up with `problem`: the shortest run of leading lines for which
/// `syntax_error` says the same. O(log lines) parses.
std::size_t dot_syntax_line(const std::string& text, const std::string& problem,
                            const std::function<std::string(const std::string&)>& syntax_error);

/// Line of the k-th (from 0) edge operator, and of the first mention of a node; 1 if not found.
std::size_t dot_edge_line(std::string_view text, std::size_t k);
std::size_t dot_node_line(std::string_view text, std::string_view name);

}  // namespace multitree
