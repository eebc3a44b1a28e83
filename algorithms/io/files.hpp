// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules and plans in files, for programs that use the library. The command line reads and
/// writes the same files (docs/file-formats.md).
#pragma once

#include <string>
#include <string_view>

#include "algorithms/tuning/plan.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Schedules by size with the network that they are for.
struct StoredPlan {
  Topology topology;
  SizedSchedules schedules;
};

/// Reads a plan file, or a schedule file as a plan for all sizes; "-" is standard input. Checks
/// form and sizes, not what the schedules do (verify()). \throws Error(Io), Error(InvalidInput)
/// "file:line: ...".
StoredPlan load_plan_file(const std::string& path);

/// Writes a schedule file if there is one schedule, else a plan file, with the text of a
/// certificate (prove_bound()) unless that is empty; "-" is standard output. \pre check_sized().
/// \throws Error(Io), Error(InvalidInput) if `certificate` is not one in form.
void store_plan_file(const std::string& path, const StoredPlan& plan,
                     std::string_view certificate = {});

}  // namespace multitree
