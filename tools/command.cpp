// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Output and small parsers shared by the commands.
#include "tools/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "topologies/io/files.hpp"

namespace multitree::tools {

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::Unsupported:
      return kUsage;
    case ErrorCode::InvalidInput:
    case ErrorCode::Io:
      return kInput;
    default:
      return kTransport;
  }
}

void print(std::string_view text) { write_file("-", text); }

void print_error(std::string_view text) { fmt::print(stderr, "{}", text); }

void print_json(const nlohmann::ordered_json& value) { print(value.dump(2) + "\n"); }

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected a comma-separated list, got '{}'", text));
    }
    items.emplace_back(text.substr(begin, end - begin));
    if (end == text.size()) return items;
    begin = end + 1;
  }
}

std::vector<std::string> command_line() {
  const std::string raw = read_file("/proc/self/cmdline");
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < raw.size();) {
    const std::size_t end = std::min(raw.find('\0', begin), raw.size());
    arguments.push_back(raw.substr(begin, end - begin));
    begin = end + 1;
  }
  return arguments;
}

}  // namespace multitree::tools
