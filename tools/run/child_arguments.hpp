// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the processes of a run are started with.
#pragma once

#include <string>
#include <vector>

namespace multitree::tools {

/// The arguments for the copies of this program. `schedule`: the file of --schedule or empty; one
/// read from standard input is handed on as an anonymous file that every copy can open, the last
/// argument.
/// \throws Error(Io)
std::vector<std::string> child_arguments(const std::string& schedule);

}  // namespace multitree::tools
