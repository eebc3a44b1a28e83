// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree status` and `multitree postmortem`: what ranks have noted of their calls.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/flight/pace.hpp"
#include "tools/command.hpp"
#include "tools/flight/words.hpp"

namespace multitree::tools {
namespace {

using runtime::flight::FlightJob;

constexpr const char* kFolder = "MULTITREE_FLIGHT";

struct FlightFlags {
  std::vector<std::string> folders;
  std::uint64_t calls = 8;
  double over = 0;  ///< seconds to look at the pace of jobs; 0: nobody asks for it
  bool json = false, prometheus = false;
};

std::int64_t now() {
  using std::chrono::nanoseconds, std::chrono::system_clock;
  return std::chrono::duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

/// \throws Error(InvalidArgument) without a folder
std::vector<std::string> folders_of(const FlightFlags& flags) {
  std::vector<std::string> folders = flags.folders;
  const char* const folder = std::getenv(kFolder);
  if (folders.empty() && folder != nullptr) folders.emplace_back(folder);
  if (folders.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected the folder that {} names at the ranks, found none", kFolder));
  }
  return folders;
}

/// \throws as folders_of(), read_flights()
std::vector<FlightJob> load(const FlightFlags& flags) {
  return runtime::flight::read_flights(folders_of(flags));
}

/// With who slows them down, where that is asked for.
std::vector<FlightJob> load_pace(const FlightFlags& flags) {
  if (flags.over == 0) return load(flags);
  const std::vector<FlightJob> before = load(flags);
  std::this_thread::sleep_for(std::chrono::duration<double>(flags.over));
  std::vector<FlightJob> jobs = load(flags);
  runtime::flight::find_slow(jobs, before, now());
  return jobs;
}

constexpr std::string_view kNoRecord =
    "no records: ranks keep them while they run with MULTITREE_FLIGHT in their environment, and "
    "remove them when all went well\n";

std::string headline(const FlightJob& job) {
  return fmt::format("communicator {:016x} of {} rank{}\n", job.job, job.ranks,
                     job.ranks == 1 ? "" : "s");
}

std::string blame_line(const FlightJob& job) {
  const std::string& words = job.blame.empty() ? job.slow : job.blame;
  return words.empty() ? "" : fmt::format("\n{}\n", one_line(words));
}

int answer(const std::vector<FlightJob>& jobs) {
  for (const FlightJob& job : jobs) {
    if (!job.blame.empty() || !job.slow.empty()) return kNegativeAnswer;
    for (const auto& flight : job.flights) {
      if (!flight.failure.empty()) return kNegativeAnswer;
    }
  }
  return kOk;
}

int status(const FlightFlags& flags) {
  const std::vector<FlightJob> jobs = load_pace(flags);
  if (flags.json) {
    print_json(flights_json(jobs));
  } else if (flags.prometheus) {
    print(flights_metrics(jobs, now()));
    return kOk;
  } else {
    if (jobs.empty()) print(kNoRecord);
    for (const FlightJob& job : jobs) {
      print(headline(job) + status_table(job, now()) + blame_line(job));
    }
  }
  return answer(jobs);
}

int postmortem(const FlightFlags& flags) {
  const std::vector<FlightJob> jobs = load(flags);
  if (flags.json) {
    print_json(flights_json(jobs));
  } else {
    if (jobs.empty()) print(kNoRecord);
    for (const FlightJob& job : jobs) {
      print(headline(job) + blame_line(job) + "\n" + postmortem_tables(job, flags.calls));
    }
  }
  return answer(jobs);
}

std::shared_ptr<FlightFlags> add_folders(CLI::App& app) {
  auto flags = std::make_shared<FlightFlags>();
  app.add_option("folder", flags->folders,
                 fmt::format("Where the ranks keep their flight records, one for each host "
                             "(default: {})",
                             kFolder));
  app.add_flag("--json", flags->json, "Print JSON");
  return flags;
}

}  // namespace

Command add_status_command(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("status", "What the ranks of running jobs are in");
  auto flags = add_folders(*app);
  app->add_flag("--prometheus", flags->prometheus, "Print metrics in Prometheus' text format")
      ->excludes("--json");
  app->add_option("--over", flags->over,
                  "Look for so many seconds, and name who slows a job down that goes on")
      ->check(CLI::Range(1.0, 3600.0));
  app->footer(
      "Exit codes: 0, or 1 if somebody keeps a job waiting, or slows it down, or it has failed.\n\n"
      "Example: mkdir -p flights && MULTITREE_FLIGHT=flights multitree run --np 2 -n 5 && "
      "multitree status flights");
  return {app, [flags] { return status(*flags); }};
}

Command add_postmortem_command(CLI::App& parent) {
  CLI::App* app =
      parent.add_subcommand("postmortem", "Why jobs have failed, and which calls came last");
  auto flags = add_folders(*app);
  app->add_option("--calls", flags->calls, "How many calls to show")
      ->capture_default_str()
      ->check(number_from(1));
  app->footer(
      "Exit codes: 0, or 1 if a job has failed.\n\n"
      "Example: mkdir -p flights && MULTITREE_FLIGHT=flights multitree run --np 2 -n 5 && "
      "multitree postmortem flights");
  return {app, [flags] { return postmortem(*flags); }};
}

}  // namespace multitree::tools
