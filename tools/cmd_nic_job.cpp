// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic job`: a collective of interfaces in hardware and in software on Ethernet.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "nic/parameters.hpp"
#include "runtime/job/bootstrap.hpp"
#include "tools/command.hpp"
#include "tools/hardware/hardware.hpp"
#include "tools/work.hpp"
#include "topologies/exception_words.hpp"
#include "topologies/group.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// With more nothing gets across in the time of a job.
constexpr double kMostDrop = 0.5;

struct JobFlags {
  WorkFlags work;
  InterfaceFlags interface;
  std::string size = "64KiB", hardware = "all", interfaces;
  WireRequest request;
  bool json = false;
};

std::string table_of(const std::vector<WireRow>& rows) {
  std::vector<std::vector<std::string>> table = {
      {"rank", "interface", "flits", "frames", "sent again", "bad frames", "ms", "sums"}};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const WireRow& row = rows[r];
    table.push_back(
        {std::to_string(r), row.is_hardware ? "hardware" : "software", std::to_string(row.flits),
         std::to_string(row.frames), std::to_string(row.again), std::to_string(row.bad),
         fmt::format("{:.1f}", row.seconds * 1e3), row.wrong.empty() ? "right" : "WRONG"});
  }
  return format_table(table);
}

ordered_json json_of(const std::vector<WireRow>& rows) {
  ordered_json ranks = ordered_json::array();
  for (const WireRow& row : rows) {
    ranks.push_back({{"interface", row.is_hardware ? "hardware" : "software"},
                     {"flits", row.flits},
                     {"frames", row.frames},
                     {"sent_again", row.again},
                     {"bad_frames", row.bad},
                     {"seconds", row.seconds},
                     {"wrong", row.wrong}});
  }
  return ranks;
}

/// \returns the exit code
int print_rows(const JobFlags& flags, const Work& work, const std::string& algorithm,
               const std::vector<WireRow>& rows, bool on_ethernet) {
  if (flags.json) {
    print_json({{"topology", work.topology.name()},
                {"algorithm", algorithm},
                {"collective", to_string(work.collective)},
                {"datatype", flags.request.data_type},
                {"size", flags.request.bytes},
                {"links", on_ethernet ? "ethernet" : "memory"},
                {"ranks", json_of(rows)}});
  } else {
    const auto hardware = std::ranges::count(rows, true, &WireRow::is_hardware);
    print(fmt::format("# {} of {} by {} on {}: {} interfaces in hardware, {} in software, frames "
                      "{}; {}\n",
                      to_string(work.collective), format_bytes(flags.request.bytes), algorithm,
                      work.topology.name(), hardware,
                      static_cast<std::ptrdiff_t>(rows.size()) - hardware,
                      on_ethernet ? "on Ethernet" : "through memory", flags.request.data_type) +
          table_of(rows));
  }
  for (const WireRow& row : rows) {
    if (!row.wrong.empty()) print_error("multitree: wrong sum: " + row.wrong + "\n");
  }
  const bool all_right = std::ranges::all_of(rows, &std::string::empty, &WireRow::wrong);
  return all_right ? kOk : kNegativeAnswer;
}

int run_job(JobFlags flags) {
  flags.request.bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  if (!flags.interfaces.empty()) {
    flags.request.interfaces =
        for_flag("--interfaces", [&] { return split_list(flags.interfaces); });
  }
  if (!(flags.request.drop >= 0 && flags.request.drop <= kMostDrop)) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("--drop: expected a part from 0 to {}, got {}", kMostDrop, flags.request.drop));
  }
  const Work work = load_work(flags.work, "nic job");
  if (work.schedules.size() != 1) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--algorithm: expected one, got {}", work.schedules.size()));
  }
  if (flags.hardware == "all") {
    for (std::uint32_t r = 0; r < work.topology.num_ranks(); ++r) {
      flags.request.hardware.push_back(Rank{r});
    }
  } else if (flags.hardware != "none") {
    flags.request.hardware =
        for_flag("--hardware", [&] { return parse_ranks(flags.hardware, work.topology); });
  }
  const nic::Parameters parameters = parameters_of(flags.interface);
  const Schedule& schedule = schedule_for(work.schedules.front(), flags.request.bytes);
  if (!runtime::started_by_launcher()) {
    const auto rows = run_wires(schedule, work.topology, parameters, flags.request, nullptr);
    return print_rows(flags, work, schedule.algorithm, rows, false);
  }
  const std::chrono::milliseconds deadline(static_cast<std::int64_t>(flags.request.timeout * 1000));
  const auto bootstrap = runtime::make_bootstrap({.deadline = deadline});
  if (bootstrap->size() != schedule.ranks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("nic job: expected {} processes for {}, got {}", schedule.ranks,
                            work.topology.name(), bootstrap->size()));
  }
  try {
    const auto rows =
        run_wires(schedule, work.topology, parameters, flags.request, bootstrap.get());
    if (bootstrap->seat() != runtime::Seat{0}) {
      const bool all_right = std::ranges::all_of(rows, &std::string::empty, &WireRow::wrong);
      return all_right ? kOk : kNegativeAnswer;
    }
    return print_rows(flags, work, schedule.algorithm, rows, true);
  } catch (const std::exception& error) {
    bootstrap->report_failure(plain_words(error));
    throw;
  }
}

}  // namespace

Command add_nic_job_command(CLI::App& nic) {
  auto flags = std::make_shared<JobFlags>();
  CLI::App* app = nic.add_subcommand(
      "job", "Run a collective of interfaces in hardware and in software whose links are Ethernet");
  auto* schedule =
      app->add_option("-s,--schedule", flags->work.schedule, "Schedule file; '-': standard input");
  add_network_flags(*app, flags->work.network)->required(false)->excludes(schedule);
  app->add_option("-a,--algorithm", flags->work.algorithms, "One algorithm")
      ->capture_default_str()
      ->excludes(schedule);
  add_collective_flags(*app, flags->work.collective, flags->work.root);
  app->add_option("--size", flags->size, "Buffer, rounded up to whole shards")
      ->capture_default_str();
  app->add_option("-d,--datatype", flags->request.data_type, "float, int32, bfloat16 or half")
      ->check(one_of({"float", "int32", "bfloat16", "half"}))
      ->capture_default_str();
  app->add_option(
         "--hardware", flags->hardware,
         "Ranks whose interfaces are verilated, as 0-3,6; all or none. The others are software")
      ->capture_default_str();
  app->add_option(
      "--interfaces", flags->interfaces,
      "Network interfaces for frames, by commas; tap:NAME is a TAP device (default: all "
      "Ethernet interfaces that are up)");
  app->add_option("--drop", flags->request.drop,
                  "Part of the frames that each rank loses on purpose, 0 to 0.5");
  app->add_option("-T,--timeout", flags->request.timeout, "Longest time for all of it, in seconds")
      ->check(CLI::Validator(check_seconds, "", "seconds"))
      ->capture_default_str();
  app->add_flag("--fast", flags->request.fast,
                "Sums of hardware by a C function, and no assertions: several times faster");
  add_interface_flags(*app, flags->interface);
  app->add_flag("--json", flags->json, "Print the result as JSON");
  app->footer(
      "Started by a launcher, one process a rank on hosts whose cables are the network's links: "
      "needs the\n"
      "right to open packet sockets. Otherwise all ranks are in this process, frames go through "
      "memory.\n"
      "Example: multitree nic job -t torus:2x4 --hardware 0-3 --drop 0.01");
  return {app, [flags] { return run_job(*flags); }};
}

}  // namespace multitree::tools
