// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Is a text valid UTF-8?
#pragma once

#include <cstddef>
#include <string_view>

namespace multitree {

/// Offset of the first byte that is no valid UTF-8 (RFC 3629: no overlong forms, no surrogates, at
/// most U+10FFFF), or text.size().
std::size_t utf8_error(std::string_view text);

/// True if a name is printable on one line: valid UTF-8 without control characters.
bool is_plain_name(std::string_view name);

}  // namespace multitree
