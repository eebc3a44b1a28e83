// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From flags to an observer, and its files.
#include "tools/run/observe_flags.hpp"

#include <fmt/format.h>

#include "runtime/measure/cached_links.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "tools/command.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

constexpr std::string_view kDeclared = "declared", kCached = "cached";

}  // namespace

void add_observe_flags(CLI::App& app, ObserveFlags& flags) {
  app.add_option("--trace", flags.trace,
                 "Write a timeline of the last timed iteration of each size for ui.perfetto.dev");
  app.add_flag("--measure-links", flags.measure_links,
               "Measure what links take before the first run, for predictions and for auto");
  app.add_option(
      "--tuning", flags.tuning,
      "Times of links from this file; 'declared': those of the topology; 'cached': as measured "
      "here before, else now");
  app.add_option("--save-tuning", flags.save_tuning, "Write the measured times of links");
  app.add_flag("--predict", flags.predict, "Show the predicted times beside the measured ones");
  app.add_flag("-v,--verbose", flags.verbose,
               "Show the algorithm of each size and the link that carried most");
}

void check_files(const ObserveFlags& flags) {
  if (!flags.tuning.empty() && (flags.measure_links || !flags.save_tuning.empty())) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--tuning: expected it alone, got --{} as well",
                            flags.measure_links ? "measure-links" : "save-tuning"));
  }
  for (const std::string& file : {flags.trace, flags.save_tuning}) {
    if (!file.empty()) check_writable(file);
  }
}

std::string_view to_string(LinkTimes times) {
  static constexpr std::string_view kNames[] = {kDeclared, "measured", kCached, "file"};
  return kNames[static_cast<std::size_t>(times)];
}

LinkTimes link_times(const ObserveFlags& flags, bool automatic) {
  if (flags.tuning == kDeclared) return LinkTimes::Declared;
  if (flags.tuning == kCached) return LinkTimes::Cached;
  if (!flags.tuning.empty()) return LinkTimes::File;
  const bool measured = automatic || flags.measure_links || !flags.save_tuning.empty();
  return measured ? LinkTimes::Measured : LinkTimes::Declared;
}

void check_tuning(const ObserveFlags& flags, const Topology& topology) {
  if (link_times(flags, false) != LinkTimes::File) return;
  const LinkTable table = parse_link_table_json(read_file(flags.tuning), flags.tuning);
  try {
    static_cast<void>(with_times(topology, table));
  } catch (const Error& error) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: {}", flags.tuning, error.what()));
  }
}

std::optional<LinkTable> find_link_times(const ObserveFlags& flags, LinkTimes times,
                                         runtime::Bootstrap& job, const Topology& topology,
                                         const runtime::CommunicatorOptions& options) {
  if (times == LinkTimes::Declared) return std::nullopt;
  if (times == LinkTimes::File) {
    return parse_link_table_json(read_file(flags.tuning), flags.tuning);
  }
  const runtime::MeasureOptions measure = runtime::measure_options(options);
  LinkTable table = times == LinkTimes::Cached ? runtime::cached_links(job, topology, measure)
                                               : runtime::measure_links(job, topology, measure);
  if (job.seat() == runtime::Seat{0} && !flags.save_tuning.empty()) {
    write_file(flags.save_tuning, write_link_table_json(table));
  }
  return table;
}

ObserverOptions observer_options(const ObserveFlags& flags, bool json, const LinkTable* times) {
  return {.links = json || flags.verbose, .trace = !flags.trace.empty(), .times = times};
}

TableColumns table_columns(const ObserveFlags& flags, bool digest, bool sized) {
  return {.digest = digest,
          .predicted = flags.predict,
          .algorithm = flags.verbose || sized,
          .busiest = flags.verbose};
}

void write_observed(const ObserveFlags& flags, const Observer& observer) {
  if (flags.trace.empty()) return;
  if (observer.lost() != 0) {
    print_error(fmt::format("multitree: --trace: {} events found no room and are missing\n",
                            observer.lost()));
  }
  write_file(flags.trace, observer.trace_json());
}

}  // namespace multitree::tools
