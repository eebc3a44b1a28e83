// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic job`: a collective of interfaces in hardware and in software on Ethernet.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
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
    const bool is_rank = row.name.empty();
    table.push_back({is_rank ? std::to_string(r) : row.name,
                     row.is_hardware ? "hardware" : "software", std::to_string(row.flits),
                     std::to_string(row.frames), std::to_string(row.again), std::to_string(row.bad),
                     fmt::format("{:.1f}", row.seconds * 1e3),
                     !is_rank            ? "-"
                     : row.wrong.empty() ? "right"
                                         : "WRONG"});
  }
  return format_table(table);
}

ordered_json json_of(const WireRow& row) {
  const std::string kind = row.is_hardware ? "hardware" : "software";
  ordered_json one;
  if (row.name.empty()) {
    one["interface"] = kind;
  } else {
    one["name"] = row.name;
    one["router"] = kind;
  }
  one["flits"] = row.flits;
  one["frames"] = row.frames;
  one["sent_again"] = row.again;
  one["bad_frames"] = row.bad;
  one["seconds"] = row.seconds;
  if (row.name.empty()) one["wrong"] = row.wrong;
  return one;
}

/// Of ranks, or of switches.
ordered_json json_of(const std::vector<WireRow>& rows, bool of_ranks) {
  ordered_json all = ordered_json::array();
  for (const WireRow& row : rows) {
    if (row.name.empty() == of_ranks) all.push_back(json_of(row));
  }
  return all;
}

/// "3 interfaces in hardware, 1 in software, 1 of 2 switches in hardware"
std::string kinds_of(const std::vector<WireRow>& rows) {
  std::size_t interfaces = 0, in_hardware = 0, switches = 0, routers = 0;
  for (const WireRow& row : rows) {
    ++(row.name.empty() ? interfaces : switches);
    if (row.is_hardware) ++(row.name.empty() ? in_hardware : routers);
  }
  return fmt::format(
      "{} interfaces in hardware, {} in software{}", in_hardware, interfaces - in_hardware,
      switches == 0 ? "" : fmt::format(", {} of {} switches in hardware", routers, switches));
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
                {"ranks", json_of(rows, true)},
                {"switches", json_of(rows, false)}});
  } else {
    print(fmt::format("# {} of {} by {} on {}: {}, frames {}; {}\n", to_string(work.collective),
                      format_bytes(flags.request.bytes), algorithm, work.topology.name(),
                      kinds_of(rows), on_ethernet ? "on Ethernet" : "through memory",
                      flags.request.data_type) +
          table_of(rows));
  }
  for (const WireRow& row : rows) {
    if (!row.wrong.empty()) print_error("multitree: wrong sum: " + row.wrong + "\n");
  }
  const bool all_right = std::ranges::all_of(rows, &std::string::empty, &WireRow::wrong);
  return all_right ? kOk : kNegativeAnswer;
}

/// Ranks as parse_ranks() takes them, and names of switches.
std::vector<NodeId> parse_hardware(const std::string& text, const Topology& topology) {
  std::vector<NodeId> nodes;
  if (text == "none") return nodes;
  std::map<std::string, NodeId> switches;
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    const Node& node = topology.node(NodeId{n});
    if (text == "all") nodes.push_back(NodeId{n});
    if (node.is_switch()) switches.emplace(node.name, NodeId{n});
  }
  if (text == "all") return nodes;
  std::string ranks;
  for (const std::string& item : split_list(text)) {
    const bool is_number = item.find_first_not_of("0123456789-:") == std::string::npos;
    const auto place = is_number ? switches.end() : switches.find(item);
    if (place != switches.end()) {
      nodes.push_back(place->second);
    } else {
      ranks += (ranks.empty() ? "" : ",") + item;
    }
  }
  if (ranks.empty() && !nodes.empty()) return nodes;
  for (const Rank rank : parse_ranks(ranks, topology)) nodes.push_back(topology.node_of(rank));
  return nodes;
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
  flags.request.hardware =
      for_flag("--hardware", [&] { return parse_hardware(flags.hardware, work.topology); });
  const nic::Parameters parameters = verilated_parameters_of(flags.interface);
  const Schedule& schedule = schedule_for(work.schedules.front(), flags.request.bytes);
  if (!runtime::started_by_launcher()) {
    const auto rows = run_wires(schedule, work.topology, parameters, flags.request, nullptr);
    return print_rows(flags, work, schedule.algorithm, rows, false);
  }
  const std::chrono::milliseconds deadline(static_cast<std::int64_t>(flags.request.timeout * 1000));
  const auto bootstrap = runtime::make_bootstrap({.deadline = deadline});
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
         "Ranks and switches that are verilated, as 0-3,6,leaf0; all or none. The others are "
         "software")
      ->capture_default_str();
  app->add_option(
      "--interfaces", flags->interfaces,
      "Network interfaces for frames, by commas; tap:NAME is a TAP device (default: all "
      "Ethernet interfaces that are up)");
  app->add_option("--drop", flags->request.drop,
                  "Part of the frames that each node loses on purpose, 0 to 0.5");
  app->add_option("-T,--timeout", flags->request.timeout, "Longest time for all of it, in seconds")
      ->check(CLI::Validator(check_seconds, "", "seconds"))
      ->capture_default_str();
  app->add_flag("--fast", flags->request.fast,
                "Sums of hardware by a C function, and no assertions: several times faster");
  add_interface_flags(*app, flags->interface);
  app->add_flag("--json", flags->json, "Print the result as JSON");
  app->footer(
      "Started by a launcher, one process a rank, or one a node and switches last, on hosts whose "
      "cables\n"
      "are the network's links: needs the right to open packet sockets. Otherwise all nodes are in "
      "this\n"
      "process, frames go through memory.\n"
      "Example: multitree nic job -t torus:2x4 --hardware 0-3 --drop 0.01");
  return {app, [flags] { return run_job(*flags); }};
}

}  // namespace multitree::tools
