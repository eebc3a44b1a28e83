// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A scanner of DOT tokens, just good enough to tell places.
#include "topologies/io/dot_lines_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

constexpr std::size_t kMaxNesting = 100;

// Length of the token, comment or blank that starts `text`, which is not empty.
std::size_t token_length(std::string_view text) {
  const auto up_to = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  if (text.starts_with("/*")) return up_to("*/", 2);
  if (text.starts_with("//")) return up_to("\n", 2);
  if (text.starts_with("->") || text.starts_with("--")) return 2;
  if (text[0] == '"') {
    for (std::size_t pos = 1; pos < text.size(); ++pos) {
      if (text[pos] == '\\') {
        ++pos;
      } else if (text[pos] == '"') {
        return pos + 1;
      }
    }
    return text.size();
  }
  constexpr std::string_view kEnds = " \t\r\n\"{}[]=;,:->/";
  return text.find_first_of(kEnds) == 0 ? 1 : std::min(text.find_first_of(kEnds), text.size());
}

// Calls visit(token, offset) for each token outside of attribute lists until it returns true.
template <class Visit>
std::size_t line_where(std::string_view text, Visit visit) {
  bool in_list = false;
  for (std::size_t pos = 0; pos < text.size();) {
    const std::string_view token = text.substr(pos, token_length(text.substr(pos)));
    if (token == "[" || token == "]") in_list = token == "[";
    if (!in_list && visit(token)) return line_at(text, pos);
    pos += token.size();
  }
  return 1;
}

/// Begins as a number does and is none, so the parser ends the number where it can.
bool is_split(std::string_view token) {
  const bool number = token.front() == '.' || (token.front() >= '0' && token.front() <= '9');
  return number && (token.find_first_not_of(".0123456789") != std::string_view::npos ||
                    std::ranges::count(token, '.') > 1);
}

// The text of a quoted token.
std::string unquoted(std::string_view token) {
  if (token.size() < 2 || token.front() != '"') return std::string(token);
  std::string text(token.substr(1, token.size() - 2));
  for (std::size_t pos = 0; (pos = text.find("\\\"", pos)) != std::string::npos; ++pos) {
    text.erase(pos, 1);
  }
  return text;
}

}  // namespace

void check_dot_nesting(std::string_view text, const std::string& file) {
  std::size_t depth = 0;
  bool too_deep = false;
  const std::size_t line = line_where(text, [&](std::string_view token) {
    if (token == "{") ++depth;
    if (token == "}" && depth > 0) --depth;
    too_deep = depth > kMaxNesting;
    return too_deep;
  });
  if (too_deep) fail_at(file, line, fmt::format("nested deeper than {} levels", kMaxNesting));
}

void check_dot_numbers(std::string_view text, const std::string& file) {
  for (std::size_t pos = 0; pos < text.size();) {
    const bool starts_line = pos == 0 || text[pos - 1] == '\n';
    if (starts_line && text[pos] == '#') {  // a comment, as preprocessors leave them
      pos = std::min(text.find('\n', pos), text.size());
      continue;
    }
    const std::string_view token = text.substr(pos, token_length(text.substr(pos)));
    if (is_split(token)) {
      fail_at(file, line_at(text, pos),
              fmt::format("expected a number without exponent, or a name in quotes, got '{}', "
                          "which DOT takes for two words",
                          token));
    }
    pos += token.size();
  }
}

std::size_t dot_syntax_line(const std::string& text, const std::string& problem,
                            const std::function<std::string(const std::string&)>& syntax_error) {
  const std::size_t last = line_at(text, text.find_last_not_of(" \t\r\n"));
  if (problem.find("<eof>") != std::string::npos) return last;
  std::size_t low = 1, high = last;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    std::size_t end = 0;
    for (std::size_t line = 0; line < middle; ++line) end = text.find('\n', end) + 1;
    if (syntax_error(text.substr(0, end)) == problem) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::size_t dot_edge_line(std::string_view text, std::size_t k) {
  return line_where(
      text, [&](std::string_view token) { return (token == "->" || token == "--") && k-- == 0; });
}

std::size_t dot_node_line(std::string_view text, std::string_view name) {
  return line_where(text, [&](std::string_view token) { return unquoted(token) == name; });
}

}  // namespace multitree
