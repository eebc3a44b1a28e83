// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules as MSCCL++ plans: one as a file, several by size as a folder with what loads them.
#pragma once

#include <string>

#include "algorithms/interchange/interchange.hpp"
#include "algorithms/tuning/plan.hpp"

namespace multitree::tools {

/// \param output a file, '-', or a folder: what is one or ends with '/'. \throws
/// Error(InvalidArgument) for several schedules without a folder, or where names do not tell which
/// ranks share a host and `options` neither; Error(Unsupported) naming the limit that one exceeds
void write_mscclpp_plans(const SizedSchedules& schedules, const Topology& topology,
                         MscclppOptions options, const std::string& output);

}  // namespace multitree::tools
