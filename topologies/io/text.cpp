// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lines and encodings of input files.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "topologies/error.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/utf8_internal.hpp"

namespace multitree {

std::size_t line_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
}

namespace {

/// What was found is quoted, and may be as long as the file: a long message loses its middle.
std::string readable(const std::string& message) {
  constexpr std::size_t kLongest = 2048, kEnd = kLongest / 2;
  if (message.size() <= kLongest) return message;
  // Not within a character of UTF-8.
  const auto whole = [&](std::size_t at) {
    while (at > 0 && (static_cast<unsigned char>(message[at]) & 0xc0U) == 0x80U) --at;
    return at;
  };
  return message.substr(0, whole(kEnd)) + " [...] " + message.substr(whole(message.size() - kEnd));
}

}  // namespace

void fail_at(const std::string& file, std::size_t line, const std::string& what) {
  throw Error(ErrorCode::InvalidInput, file + ":" + std::to_string(line) + ": " + readable(what));
}

void check_text(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    fail_at(file, 1, "the file is empty");
  }
  const std::size_t bad = std::min(utf8_error(text), text.find('\0'));
  if (bad < text.size())
    fail_at(file, line_at(text, bad),
            fmt::format("a byte that is no UTF-8 text: 0x{:02x}",
                        static_cast<unsigned char>(text[bad])));
}

std::string_view xml_root_name(std::string_view text) {
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with("!--")) {
      at = text.find("-->", at);
      if (at == text.npos) break;
    } else if (!rest.starts_with('?') && !rest.starts_with('!')) {
      return rest.substr(0, rest.find_first_of(" \t\r\n/>"));
    }
  }
  return {};
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto take_number = [](std::string_view& text) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    // Of one that is too large its digits are compared as letters.
    if (error != std::errc{}) return std::optional<std::uint64_t>();
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return std::optional(value);
  };
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    const auto number_a = take_number(a), number_b = take_number(b);
    if (number_a != number_b) return number_a < number_b;
    if (number_a) continue;
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return std::pair(a.size(), whole_a) < std::pair(b.size(), whole_b);
}

std::string decimal_text(std::uint64_t value, int decimals) {
  std::string digits = fmt::format("{:0{}}", value, decimals + 1);
  std::string fraction = digits.substr(digits.size() - static_cast<std::size_t>(decimals));
  digits.resize(digits.size() - fraction.size());
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? digits : digits + "." + fraction;
}

}  // namespace multitree
