// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What `multitree run` is going to run, by its flags.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "tools/run/benchmark.hpp"
#include "tools/run/flags.hpp"
#include "tools/run/table.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// Among the algorithms: no schedule, the memory of one host.
inline constexpr std::string_view kHost = "host";
/// Among them: on one host the same; else schedules by size, chosen when the processes are there.
inline constexpr std::string_view kAuto = "auto";
/// What is going to be run: known in full before any process is started.
struct Plan {
  std::vector<Topology> network;  ///< one
  std::uint32_t ranks = 0;
  std::vector<SizedSchedules> schedules;
  std::vector<AlgorithmRun> runs;      // without rows
  std::vector<std::size_t> automatic;  ///< runs whose schedules are still to be chosen
  BenchmarkOptions options;
  std::vector<std::string> hosts;  ///< by rank, where --map asks
};

/// What run `i` runs, verified.
void set_run(Plan& plan, std::size_t i, SizedSchedules schedules);
/// What is to be tried or saved is a choice. \throws Error(InvalidArgument) if there is none
void check_choice(const Plan& plan, const RunFlags& flags, std::string_view expected);
/// What becomes of a network that flags name.
using Counted = std::function<Topology(const Topology&)>;

/// `job_size`: processes that there are already, spares too; 0: none. `counted`: empty: nothing.
/// \throws Error naming the flag and what it expects
Plan make_plan(const RunFlags& flags, std::uint32_t job_size, const Counted& counted = {});

}  // namespace multitree::tools
