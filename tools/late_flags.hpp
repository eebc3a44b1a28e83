// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flags of commands that simulate interfaces, for sums that go on without late contributions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nic/simulate.hpp"
#include "tools/command.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

struct LateFlags {
  std::optional<double> budget;
  std::string deadline = "2us", stragglers;
};

/// "RANK:TIME,...", or "none", as the cycle of each rank from which on it is there.
/// \throws Error(InvalidArgument) naming the flag
std::vector<std::uint64_t> straggler_cycles(const char* flag, const std::string& text,
                                            std::uint32_t ranks, std::uint64_t clock_hz);

void add_late_flags(CLI::App& app, LateFlags& flags);

/// Empty if nobody is late and everybody is waited for. \throws Error naming the flag
std::optional<nic::Losses> losses_of(const LateFlags& flags, const Topology& topology,
                                     const nic::Parameters& parameters);

/// "15 of 16 contributions; late: 5; without: 5", as a line of its own behind a row.
std::string losses_line(const nic::LossReport& report, std::uint32_t ranks);
nlohmann::ordered_json losses_json(const nic::LossReport& report);

}  // namespace multitree::tools
