// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lines and encodings of input files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace multitree {

/// Line (from 1) of the byte at an offset; offsets past the end count as the end.
std::size_t line_at(std::string_view text, std::size_t offset);

/// Throws Error(InvalidInput) "file:line: what".
[[noreturn]] void fail_at(const std::string& file, std::size_t line, const std::string& what);

/// \throws Error(InvalidInput) if the text is blank, or no UTF-8, or holds a NUL.
void check_text(std::string_view text, const std::string& file);

/// Compares runs of digits as numbers: n2 before n10.
bool natural_less(std::string_view a, std::string_view b);

/// value / 10^decimals, with no more digits than it takes.
std::string decimal_text(std::uint64_t value, int decimals);

/// The name of the first element of an XML text, found without parsing the whole; empty if there is
/// none.
std::string_view xml_root_name(std::string_view text);

}  // namespace multitree
