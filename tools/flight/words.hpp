// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flight records for people and for other programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/flight/flights.hpp"

namespace multitree::tools {

/// Its ranks, one a line: what it is in, how long it has waited, and for whom. `now_ns`: since
/// 1970.
std::string status_table(const runtime::flight::FlightJob& job, std::int64_t now_ns);

/// Why its ranks gave up, and the latest `calls` calls: who has begun and ended them.
std::string postmortem_tables(const runtime::flight::FlightJob& job, std::uint64_t calls);

/// All of it; times in seconds since 1970.
nlohmann::ordered_json flights_json(const std::vector<runtime::flight::FlightJob>& jobs);

/// Metrics in Prometheus' text format, for its collector of text files.
std::string flights_metrics(const std::vector<runtime::flight::FlightJob>& jobs,
                            std::int64_t now_ns);

}  // namespace multitree::tools
