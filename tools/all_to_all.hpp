// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What `bounds` and `schedule` do of an all-to-all.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "tools/command.hpp"

namespace multitree::tools {

/// The flags of either command.
struct AllToAllFlags {
  NetworkFlags network{};
  std::string demand{};    ///< file of a matrix; empty: the same from everyone for everyone
  std::string size{};      ///< of what each rank puts in; a matrix says its own
  std::string overhead{};  ///< of a message, for predicted times
  std::string output{};
  bool json = false;
};

/// Adds --demand.
void add_demand_flag(CLI::App& app, std::string& demand);
/// \throws Error(InvalidArgument): --demand goes with alltoall.
[[noreturn]] void check_no_demand(std::string_view collective);

/// The bound of an all-to-all with its proof, and how near routes come to it.
int all_to_all_bounds(const AllToAllFlags& flags);
/// Its schedule, verified and priced.
int all_to_all_schedules(const AllToAllFlags& flags);

}  // namespace multitree::tools
