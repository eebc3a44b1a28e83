// SPDX-License-Identifier: BSD-3-Clause
#include "topologies/io/listing_internal.hpp"

#include <fmt/format.h>

#include <charconv>

#include "topologies/error.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

std::vector<TextLine> lines_of(std::string_view text) {
  std::vector<TextLine> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back({lines.size() + 1, trimmed(text.substr(0, end))});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::uint32_t number_at(const std::string& file, std::size_t line, std::string_view text,
                        std::string_view what) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  fail_at(file, line, fmt::format("{}: expected a whole number, got '{}'", what, text));
}

Topology build_listed(TopologyBuilder builder, const std::string& file) {
  try {
    return std::move(builder).build();
  } catch (const Error& error) {
    fail_at(file, 1, error.what());
  }
}

}  // namespace multitree
