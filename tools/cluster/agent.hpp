// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A host's part in a discovery.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace multitree::tools {

/// What this host has: its names and ports. `multitree cluster probe --json` prints it.
nlohmann::ordered_json describe_this_host();

/// Answers questions on standard input, a line of JSON each, until there are no more, or none for
/// kMostSilence. What goes wrong is an answer, too: {"error": "..."}.
void answer_questions();

}  // namespace multitree::tools
