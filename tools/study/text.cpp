// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Pieces of Markdown and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/study/report.hpp"

namespace multitree::tools {

std::string markdown_table(const Rows& rows) {
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += fmt::format("| {} |\n", fmt::join(rows[r], " | "));
    if (r > 0) continue;
    text += "|---|";
    for (std::size_t c = 1; c < rows[0].size(); ++c) text += "---:|";
    text += "\n";
  }
  return text;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::string times(double ratio) { return fmt::format("{:.2f}x", ratio); }

std::string range_of_times(const std::vector<double>& ratios) {
  if (ratios.empty()) return "-";
  const auto [least, most] = std::ranges::minmax(ratios);
  const std::string from = times(least), to = times(most);
  return from == to ? from : fmt::format("{} to {}", from, to);
}

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100 + 0.0); }

}  // namespace multitree::tools
