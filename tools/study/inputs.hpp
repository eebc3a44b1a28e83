// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Files that the study reads: layer tables and parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/study/plan.hpp"

namespace multitree::tools {

/// Range of --max-bytes.
inline constexpr std::uint64_t kLeastBytes = 32 << 10, kMostBytes = std::uint64_t{1} << 32;

/// One set for each path, a file or a directory of .csv files; none: the tables that come with the
/// program. `quick`: the first two networks of each. \throws Error(Io), Error(InvalidInput).
std::vector<WorkloadSet> read_workload_sets(const std::vector<std::string>& paths, bool quick);

/// compatibility-packet.json and compatibility-message.json, which come with the program.
Compatibility read_compatibility();

}  // namespace multitree::tools
