// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cells of tables.
#include <fmt/format.h>

#include <charconv>

#include "topologies/error.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/units.hpp"
#include "training/rows_internal.hpp"

namespace multitree::training {
namespace {

constexpr std::string_view kSpace = " \t\r";

/// Whether all of the text is a whole number.
bool parse_whole(std::string_view text, std::uint64_t& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && rest == text.data() + text.size();
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = text.find_first_not_of(kSpace);
    if (begin == text.npos) return words;
    const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

void Row::fail(std::size_t column, const std::string& expected) const {
  fail_at(file, line,
          fmt::format("column '{}': expected {}, found '{}'", columns[column], expected,
                      cells[column]));
}

void Row::check_width() const {
  if (cells.size() == columns.size()) return;
  fail_at(file, line,
          fmt::format("expected {} columns ({}), found {}", columns.size(), fmt::join(columns, ","),
                      cells.size()));
}

std::string Row::name(std::size_t column) const {
  if (cells[column].empty()) fail(column, "the name of a layer");
  return std::string(cells[column]);
}

std::uint64_t Row::count(std::size_t column, std::uint64_t most) const {
  std::uint64_t number = 0;
  if (!parse_whole(cells[column], number) || number > most) {
    fail(column, fmt::format("a whole number up to {}", most));
  }
  return number;
}

std::vector<std::uint64_t> Row::tensors(std::size_t column, std::uint32_t bytes) const {
  std::vector<std::uint64_t> tensors;
  for (const std::string_view part : split_at(cells[column], '+')) {
    std::uint64_t parameters = 0;
    if (!parse_whole(part, parameters) || parameters > kMaxParameters) {
      fail(column, fmt::format("whole numbers up to {}, joined by '+'", kMaxParameters));
    }
    if (parameters != 0) tensors.push_back(parameters * bytes);
  }
  return tensors;
}

double Row::seconds(std::size_t column) const {
  try {
    return parse_time(cells[column]).seconds();
  } catch (const Error&) {
    fail(column, "a time with its unit, as 1.5us");
  }
}

}  // namespace multitree::training
