// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The flags of `multitree run` for what it shows besides times.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "algorithms/tuning/link_table.hpp"
#include "runtime/communicator.hpp"
#include "tools/run/observer.hpp"
#include "tools/run/table.hpp"

namespace multitree::tools {

struct ObserveFlags {
  std::string trace, tuning, save_tuning;
  bool predict = false, verbose = false, measure_links = false;
};

/// Where the times of links are from.
enum class LinkTimes : std::uint8_t { Declared, Measured, Cached, File };
/// "declared", "measured", "cached", "file".
std::string_view to_string(LinkTimes times);
/// `automatic`: a schedule is chosen by them, which asks for measured ones.
LinkTimes link_times(const ObserveFlags& flags, bool automatic);

/// \throws Error if the file of --tuning is not for this network, as parse_link_table_json() and
/// with_times().
void check_tuning(const ObserveFlags& flags, const Topology& topology);

/// Collective, before the first run: the times if they are not the declared ones. Rank 0 saves them
/// if that is wanted. \throws Error as runtime::measure_links(), parse_link_table_json()
std::optional<LinkTable> find_link_times(const ObserveFlags& flags, LinkTimes times,
                                         runtime::Bootstrap& job, const Topology& topology,
                                         const runtime::CommunicatorOptions& options);

void add_observe_flags(CLI::App& app, ObserveFlags& flags);

/// \throws Error(Io) if a file of the flags could not be written, Error(InvalidArgument) if flags
/// contradict each other
void check_files(const ObserveFlags& flags);

/// `json`: whether all that is known is going to be written. `times`: of links; null: as declared.
ObserverOptions observer_options(const ObserveFlags& flags, bool json, const LinkTable* times);

/// Columns of the table of a run; `sized`: it has several schedules.
TableColumns table_columns(const ObserveFlags& flags, bool digest, bool sized);

/// At rank 0, at the end. \throws Error(Io)
void write_observed(const ObserveFlags& flags, const Observer& observer);

}  // namespace multitree::tools
