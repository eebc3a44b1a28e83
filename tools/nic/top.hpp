// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic top`.
#pragma once

#include "tools/command.hpp"

namespace multitree::tools {

/// A network as one SystemVerilog module, and the list of its files.
Command add_nic_top_command(CLI::App& nic);

}  // namespace multitree::tools
