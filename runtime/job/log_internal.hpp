// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the runtime tells whoever looks for a cause.
#pragma once

#include <spdlog/logger.h>

namespace multitree::runtime {

/// Writes to standard error. MULTITREE_LOG names the least that is written: off, error, warn (as
/// without it), info, debug. Errors that are thrown are not logged as well. From any thread.
spdlog::logger& logger();

}  // namespace multitree::runtime
