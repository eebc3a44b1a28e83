// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The flags of `multitree run` for what it shows besides times.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/run/observer.hpp"
#include "tools/run/table.hpp"

namespace multitree::tools {

struct ObserveFlags {
  std::string trace;
  bool predict = false, verbose = false;
};

void add_observe_flags(CLI::App& app, ObserveFlags& flags);

/// \throws Error(Io) if a file of the flags could not be written.
void check_files(const ObserveFlags& flags);

/// `json`: whether all that is known is going to be written.
ObserverOptions observer_options(const ObserveFlags& flags, bool json);

/// Columns of the table of a run; `sized`: it has several schedules.
TableColumns table_columns(const ObserveFlags& flags, bool digest, bool sized);

/// At rank 0, at the end. \throws Error(Io)
void write_files(const ObserveFlags& flags, const Observer& observer);

}  // namespace multitree::tools
