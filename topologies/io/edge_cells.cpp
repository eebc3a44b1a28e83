// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cells between separators, and the dictionaries that networkx writes behind them.
#include "topologies/io/edge_cells_internal.hpp"

#include <fmt/format.h>

#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

constexpr std::string_view kBlankBytes = " \t\r\f\v";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlankBytes);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlankBytes) - first + 1);
}

bool is_quote(char c) { return c == '"' || c == '\''; }

/// Without the quotes around it, if it has some.
std::string without_quotes(std::string_view text) {
  text = without_blanks(text);
  if (text.size() >= 2 && is_quote(text.front()) && text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

/// Where one of `bytes` is that is neither quoted nor, in Python, in brackets; the size of the text
/// if there is none.
std::size_t find_outside(std::string_view text, std::string_view bytes, bool python = false) {
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool opens = c == '"' || (python && c == '\'');
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (depth == 0 && bytes.find(c) != std::string_view::npos) {
      return i;
    } else if (opens && text.find(c, i + 1) != std::string_view::npos) {
      quote = c;
    } else if (python) {
      depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    }
  }
  return text.size();
}

std::vector<std::string_view> split(std::string_view text, char separator, bool python = false) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = find_outside(text, {&separator, 1}, python);
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The members of "{'weight': 3, 'bandwidth': '50GB/s'}".
EdgeAttributes attributes_of(std::string_view text, const TextLine& line, const std::string& file) {
  const auto fail = [&] {
    fail_at(file, line.number,
            fmt::format("expected attributes as in \"{{'bandwidth': '50GB/s', 'latency': 500}}\", "
                        "got '{}'",
                        text));
  };
  if (text.size() < 2 || text.back() != '}') fail();
  const std::string_view inside = without_blanks(text.substr(1, text.size() - 2));
  EdgeAttributes attributes;
  if (inside.empty()) return attributes;
  for (const std::string_view member : split(inside, ',', true)) {
    const std::size_t colon = find_outside(member, ":", true);
    if (colon == member.size()) fail();
    put_attribute(without_quotes(member.substr(0, colon)), without_quotes(member.substr(colon + 1)),
                  attributes);
  }
  return attributes;
}

}  // namespace

void put_attribute(const std::string& name, const std::string& value, EdgeAttributes& attributes) {
  if (value.empty() || value == "None") return;
  if (name == "bandwidth") {
    attributes.bandwidth = value;
  } else if (name == "latency") {
    attributes.latency = value;
  } else {
    attributes.others.push_back(name);
  }
}

EdgeCells cells_of(const TextLine& line, const std::string& file) {
  EdgeCells row{.line = line.number, .cells = {}, .attributes = std::nullopt};
  const std::size_t end = find_outside(line.text, "#{");
  std::string_view text = without_blanks(line.text.substr(0, end));
  if (end < line.text.size() && line.text[end] == '{') {
    row.attributes = attributes_of(line.text.substr(end), line, file);
  }
  if (text.empty() && !row.attributes) return row;
  for (const char separator : {',', ';', '\t'}) {
    if (find_outside(text, {&separator, 1}) == text.size()) continue;
    // Beside other blanks a tab is one of them.
    if (separator == '\t' && find_outside(text, " ") < text.size()) continue;
    row.separator = separator;
    break;
  }
  if (row.separator == ' ') {
    for (const std::string_view word : words_of(text)) row.cells.push_back(without_quotes(word));
    return row;
  }
  for (const std::string_view cell : split(text, row.separator)) {
    row.cells.push_back(without_quotes(cell));
  }
  // What a separator before attributes has behind it.
  if (row.attributes && row.cells.back().empty()) row.cells.pop_back();
  return row;
}

}  // namespace multitree
