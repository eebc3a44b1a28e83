// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A host's part in a discovery.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace multitree::tools {

/// What this host has: its names and ports. `multitree cluster probe --json` prints it.
/// `interfaces`: as probe::list_ports()
nlohmann::ordered_json describe_this_host(const std::string& interfaces);

/// Answers questions on standard input, a line of JSON each, until there are no more, or none for
/// ten minutes. What goes wrong is an answer, too: {"error": "..."}.
void answer_questions();

}  // namespace multitree::tools
