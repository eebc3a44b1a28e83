// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lines in a JSON text, found by scanning it again: the price is paid after an error only.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace multitree {

/// Line of the value at a path (of its opening bracket); the last line if there is none.
std::size_t json_line_of_path(std::string_view text, const nlohmann::json::json_pointer& path);

/// Line of the n-th (from 1) event, an event being a key or an opening bracket.
std::size_t json_line_of_event(std::string_view text, std::size_t event);

}  // namespace multitree
