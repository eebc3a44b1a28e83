// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a program hands on to the processes that it starts of itself.
#pragma once

#include <string>
#include <vector>

namespace multitree::tools {

/// A name under which child processes can read a copy of standard input. \throws Error(Io)
std::string keep_standard_input();
/// Those of this process, argv[0] included.
std::vector<std::string> arguments();

}  // namespace multitree::tools
