// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flags to an observer, and its files.
#include "tools/run/observe_flags.hpp"

#include <fmt/format.h>

#include "tools/command.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {

void add_observe_flags(CLI::App& app, ObserveFlags& flags) {
  app.add_option("--trace", flags.trace,
                 "Write a timeline of the last timed iteration of each size for ui.perfetto.dev");
  app.add_flag("--predict", flags.predict, "Show the predicted times beside the measured ones");
  app.add_flag("-v,--verbose", flags.verbose,
               "Show the algorithm of each size and the link that carried most");
}

void check_files(const ObserveFlags& flags) {
  if (!flags.trace.empty()) check_writable(flags.trace);
}

ObserverOptions observer_options(const ObserveFlags& flags, bool json) {
  return {.links = json || flags.verbose, .trace = !flags.trace.empty()};
}

TableColumns table_columns(const ObserveFlags& flags, bool digest, bool sized) {
  return {.digest = digest,
          .predicted = flags.predict,
          .algorithm = flags.verbose || sized,
          .busiest = flags.verbose};
}

void write_files(const ObserveFlags& flags, const Observer& observer) {
  if (flags.trace.empty()) return;
  if (observer.lost() != 0) {
    print_error(fmt::format("multitree: --trace: {} events found no room and are missing\n",
                            observer.lost()));
  }
  write_file(flags.trace, observer.trace_json());
}

}  // namespace multitree::tools
