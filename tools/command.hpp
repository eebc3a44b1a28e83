// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the commands of the program share: registration, flags that several have, exit codes,
/// output.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/io/io.hpp"
#include "topologies/degrade.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {

/// Documented in README.md.
enum ExitCode : int { kOk = 0, kNegativeAnswer = 1, kUsage = 2, kInput = 3, kTransport = 4 };
int exit_code_of(ErrorCode code);

/// A command fills its flags in and sets `run`, which returns the exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

/// A format of other programs that a command writes or reads.
struct FormatRow {
  std::string_view name, summary;
};
std::vector<FormatRow> export_formats();
std::vector<FormatRow> import_formats();
/// Adds the argument "format", one of these.
void add_format_argument(CLI::App& app, std::string& format, const std::vector<FormatRow>& rows);

Command add_topology_command(CLI::App& parent);
Command add_topology_discover_command(CLI::App& topology);
Command add_bounds_command(CLI::App& parent);
Command add_schedule_command(CLI::App& parent);
Command add_verify_command(CLI::App& parent);
Command add_run_command(CLI::App& parent);
Command add_export_command(CLI::App& parent);
Command add_import_command(CLI::App& parent);
Command add_replan_command(CLI::App& parent);
Command add_list_command(CLI::App& parent);
Command add_nic_command(CLI::App& parent);
Command add_nic_cosim_command(CLI::App& nic);
Command add_nic_job_command(CLI::App& nic);
Command add_nic_run_command(CLI::App& nic);
Command add_nic_top_command(CLI::App& nic);
Command add_nic_verify_command(CLI::App& nic);
Command add_status_command(CLI::App& parent);
Command add_postmortem_command(CLI::App& parent);
Command add_simulate_command(CLI::App& parent);
Command add_tune_command(CLI::App& parent);
Command add_symmetric_command(CLI::App& parent);
Command add_train_command(CLI::App& parent);
Command add_view_command(CLI::App& parent);
Command add_explain_command(CLI::App& parent);
Command add_design_command(CLI::App& parent);
Command add_explore_command(CLI::App& parent);
Command add_cluster_command(CLI::App& parent);
Command add_completion_command(CLI::App& parent);
Command add_manual_command(CLI::App& parent);

/// Calls `parse` and prefixes what it throws about its argument with the flag.
template <typename Parse>
auto for_flag(std::string_view flag, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument && error.code() != ErrorCode::Unsupported) throw;
    throw Error(error.code(), std::string(flag) + ": " + error.what());
  }
}

/// Checks of flags whose messages say what was expected and what was found.
CLI::Validator one_of(std::vector<std::string> names);
CLI::Validator number_from(std::uint64_t least,
                           std::uint64_t most = std::numeric_limits<std::uint32_t>::max());

/// The same for a CLI::Validator: empty if the text is a time of 1 ms to 10^6 s, in seconds.
std::string check_seconds(const std::string& text);

/// The network of a command: a spec or file, and the changes of degrade.hpp to it.
struct NetworkFlags {
  std::string topology;
  NetworkChanges changes;
};
/// Adds --without, --dead, --slow, --parallel and --switches, and unless it makes no sense,
/// --ranks.
std::vector<CLI::Option*> add_change_flags(CLI::App& app, NetworkChanges& changes,
                                           bool with_ranks = true);
/// Adds -t and all of these; returns -t.
CLI::Option* add_network_flags(CLI::App& app, NetworkFlags& flags);
/// load_topology() that says on standard error what was taken for granted, in one process of a job.
Topology load_with_notes(const std::string& spec_or_file);
/// Reads the network and changes it. \throws Error naming the flag.
Topology load_network(const NetworkFlags& flags);
/// The same for all that makes a whole schedule or its bounds. \throws Error as
/// check_written_out(), naming the flag.
Topology load_whole_network(const NetworkFlags& flags);
/// A network that was loaded, checked in the same way.
Topology whole_network(Topology topology);
/// change_network() that names flags instead of options.
Topology change_by_flags(const Topology& topology, const NetworkChanges& changes);

/// "allreduce, ... or scatter", for help.
std::string collective_names();

/// \throws Error(Unsupported) naming the flag: the command's collectives are those along trees.
void check_along_trees(Collective collective, std::string_view flag);

/// A root rank. \throws Error(InvalidArgument) if the topology has fewer ranks.
Rank check_root(std::uint32_t root, const Topology& topology);

/// Reads a schedule file; "-" is standard input. \throws Error(Io), Error(InvalidInput).
SchedulePlan load_schedule(const std::string& path);

/// Reads a plan file, or a schedule file as a plan for all sizes. \throws as load_schedule().
PlanFile load_plan(const std::string& path);

/// Text to standard output. \throws Error(Io) if it cannot be written.
void print(std::string_view text);
/// Text to standard error.
void print_error(std::string_view text);
/// A message that may quote anything, with control characters spelt out.
std::string one_line(std::string_view text);
/// Pretty JSON to standard output.
void print_json(const nlohmann::ordered_json& value);

/// Writes a network as --format says, or as the extension of --output does ("-": JSON).
/// \throws Error(InvalidArgument) for another extension, Error(Io).
void write_network(const Topology& topology, const std::string& output, const std::string& format);

/// Check of --format.
CLI::Validator network_formats();

/// Columns aligned to the right, the first to the left; two spaces between.
std::string format_table(const std::vector<std::vector<std::string>>& rows);

/// A whole number, or "numerator/denominator".
std::string to_text(Rational value);

/// Processor time of this process so far.
double cpu_seconds();

/// Splits "a, b,c"; \throws Error(InvalidArgument) on an empty item.
std::vector<std::string> split_list(std::string_view text);

/// The algorithms of a flag -a: "ring, multitree?segments=4", or "all" that serve the network.
/// `besides` are words that the command knows in addition. \throws as split_list().
std::vector<std::string> algorithm_list(std::string_view text, const Topology& topology,
                                        const std::vector<std::string_view>& besides = {});

}  // namespace multitree::tools
