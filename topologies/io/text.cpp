// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lines and encodings of input files.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/error.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/utf8_internal.hpp"

namespace multitree {

std::size_t line_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(std::ranges::count(before, '\n'));
}

void fail_at(const std::string& file, std::size_t line, const std::string& what) {
  throw Error(ErrorCode::InvalidInput, file + ":" + std::to_string(line) + ": " + what);
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

}  // namespace multitree
