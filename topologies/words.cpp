// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Comparing words without case and separators, and by their distance.
#include "topologies/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace multitree {
namespace {

/// Letters and digits only, in lower case.
std::string folded(std::string_view word) {
  std::string text;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) text += static_cast<char>(std::tolower(byte));
  }
  return text;
}

/// How many letters one leaves out, adds, changes or swaps with the next to get from a to b
/// (the optimal string alignment distance).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1,
                         last[j - 1] + static_cast<std::size_t>(a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string_view> meant(std::string_view word,
                                      std::span<const std::string_view> names,
                                      std::span<const Alias> aliases) {
  if (const auto same = std::ranges::find(names, word); same != names.end()) return *same;
  const std::string wanted = folded(word);
  if (wanted.empty()) return std::nullopt;
  for (const std::string_view name : names) {
    if (folded(name) == wanted) return name;
  }
  for (const Alias& alias : aliases) {
    if (folded(alias.word) == wanted) return alias.name;
  }
  return std::nullopt;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  const std::string wanted = folded(word.substr(0, 64));
  std::string_view nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string_view name : names) {
    const std::string other = folded(name);
    const std::size_t off = distance(wanted, other);
    // A third of a word may be wrong; more would be another word.
    if (off < least && off <= std::max<std::size_t>(1, other.size() / 3) && off < other.size()) {
      least = off;
      nearest = name;
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace multitree
