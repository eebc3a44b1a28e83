// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The flag of commands that simulate links, for links that lose.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "nic/link_errors.hpp"
#include "tools/command.hpp"

namespace multitree::tools {

void add_link_flags(CLI::App& app, std::string& text);
/// Empty: everything arrives. \throws Error(InvalidArgument) naming the flag
std::optional<nic::LinkErrors> link_errors_of(const std::string& text);

/// What links have sent, as a line of its own behind a row.
std::string link_counts_line(const nic::LinkCounts& counts);
nlohmann::ordered_json link_counts_json(const nic::LinkCounts& counts);

}  // namespace multitree::tools
