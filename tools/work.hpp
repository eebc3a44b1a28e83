// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedules that a command works on, from a file or made for a network, and the interfaces
/// that execute them.
#pragma once

#include "nic/parameters.hpp"
#include "tools/command.hpp"

namespace multitree::tools {

/// A schedule file, or a network and what makes schedules for it.
struct WorkFlags {
  NetworkFlags network;
  std::string schedule;
  std::string algorithms = "multitree";  ///< several by commas, where the command takes several
  std::string collective = "allreduce";
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;  ///< that algorithms choose for; 0: the size that each has by default
};

/// Adds -c and -r.
void add_collective_flags(CLI::App& app, std::string& collective, std::uint32_t& root);

struct Work {
  Topology topology;
  Collective collective{};
  Rank root{};
  std::vector<std::string> names;         ///< of algorithms
  std::vector<SizedSchedules> schedules;  ///< by name; of a file they may depend on the size
};

/// A schedule or plan file's, or those of all algorithms named; verified. `command`: who asks, for
/// errors. \throws Error naming the file or the flag.
Work load_work(const WorkFlags& flags, std::string_view command);

/// The same of a schedule file or one algorithm; none named: multitree.
SchedulePlan load_one(const WorkFlags& flags, std::string_view command);

/// How interfaces work, beside what other flags of a command say.
struct InterfaceFlags {
  std::string config, flow_control, issue;
};
/// Adds --config, --flow-control and --issue.
void add_interface_flags(CLI::App& app, InterfaceFlags& flags);
/// \param otherwise what they are unless they are given
nic::Parameters parameters_of(const InterfaceFlags& flags, const nic::Parameters& otherwise = {});
/// Of hardware that is verilated. \throws Error(Unsupported) as nic::expect_verilated().
nic::Parameters verilated_parameters_of(const InterfaceFlags& flags);

}  // namespace multitree::tools
