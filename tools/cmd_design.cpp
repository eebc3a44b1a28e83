// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree design`: how to cable so many ranks with so many ports.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/design/design.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "topologies/io/io.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct DesignFlags {
  std::uint32_t ranks = 0, ports = 0;
  std::string bandwidth = "16GB/s", latency = "150ns";
  std::string collective = "allreduce", size = "1MiB";
  std::string output, format;
  bool json = false;
};

DesignTask task_of(const DesignFlags& flags) {
  DesignTask task{.ranks = flags.ranks, .ports = flags.ports};
  task.bandwidth = for_flag("--bandwidth", [&] { return parse_bandwidth(flags.bandwidth); });
  task.latency = for_flag("--latency", [&] { return parse_time(flags.latency); });
  task.collective = for_flag("--collective", [&] { return parse_collective(flags.collective); });
  if (task.collective != Collective::AllReduce && task.collective != Collective::AllToAll) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--collective: expected allreduce or alltoall, got {}",
                            to_string(task.collective)));
  }
  task.bytes = for_flag("--bytes", [&] { return parse_bytes(flags.size); });
  if (task.collective == Collective::AllToAll) task.bytes *= task.ranks;
  return task;
}

/// Hops between two ranks that differ, on average.
double mean_hops(std::uint64_t distances, std::uint64_t sources, std::uint32_t ranks) {
  return static_cast<double>(distances) / static_cast<double>(sources * (ranks - 1));
}

ordered_json to_json(const Designs& designs, const DesignTask& task) {
  const DegreeBound& degree = designs.degree;
  ordered_json json = {{"ranks", task.ranks},
                       {"ports", task.ports},
                       {"collective", to_string(task.collective)},
                       {"bytes", task.bytes},
                       {"least_hops", degree.hops},
                       {"least_mean_hops", mean_hops(degree.distances, 1, task.ranks)},
                       {"least_seconds", designs.degree_seconds},
                       {"designs", ordered_json::array()}};
  for (const Design& design : designs.designs) {
    json["designs"].push_back(
        {{"kind", design.kind},
         {"network", design.topology.name()},
         {"hops", design.spread.hops},
         {"mean_hops", mean_hops(design.spread.distances, task.ranks, task.ranks)},
         {"shards", design.shards.str()},
         {"seconds", design.seconds},
         {"over_least", design.seconds / designs.degree_seconds}});
  }
  return json;
}

std::string to_text(const Designs& designs, const DesignTask& task, const DesignFlags& flags) {
  const DegreeBound& degree = designs.degree;
  std::string text = fmt::format(
      "# {} ranks with {} cables of {}, {} each; {} of {}\n"
      "# with so many cables no network takes less than {:.2f}us: {} hops, {:.3f} on average\n",
      task.ranks, task.ports, to_string(task.bandwidth), to_string(task.latency),
      to_string(task.collective), flags.size, designs.degree_seconds * 1e6, degree.hops,
      mean_hops(degree.distances, 1, task.ranks));
  std::vector<std::vector<std::string>> rows = {
      {"network", "kind", "hops", "mean hops", "shard times", "time", "over least"}};
  for (const Design& design : designs.designs) {
    rows.push_back(
        {design.topology.name(), design.kind, fmt::format("{}", design.spread.hops),
         fmt::format("{:.3f}", mean_hops(design.spread.distances, task.ranks, task.ranks)),
         fmt::format("{:.4f}", design.shards.convert_to<double>()),
         fmt::format("{:.2f}us", design.seconds * 1e6),
         fmt::format("{:.3f}", design.seconds / designs.degree_seconds)});
  }
  return text + format_table(rows);
}

int run(const DesignFlags& flags) {
  const DesignTask task = task_of(flags);
  Designs designs;
  {
    const Progress progress(
        fmt::format("designing networks of {} ranks with {} cables", task.ranks, task.ports));
    designs = for_flag("--ports", [&] { return design_networks(task); });
  }
  if (!flags.output.empty()) {
    write_network(designs.designs.front().topology, flags.output, flags.format);
    if (flags.output == "-") return kOk;
  }
  flags.json ? print_json(to_json(designs, task)) : print(to_text(designs, task, flags));
  return kOk;
}

}  // namespace

Command add_design_command(CLI::App& parent) {
  auto flags = std::make_shared<DesignFlags>();
  CLI::App* app = parent.add_subcommand(
      "design", "How to cable so many ranks with so many ports, and what no cabling beats");
  app->add_option("--ranks", flags->ranks, "How many ranks, 2 to 1024")
      ->required()
      ->check(number_from(2, 1024));
  app->add_option("--ports", flags->ports, "Cables at each rank")
      ->required()
      ->check(number_from(1, 1023));
  app->add_option("--bandwidth", flags->bandwidth, "Of a cable, each way")->capture_default_str();
  app->add_option("--latency", flags->latency, "Of a cable")->capture_default_str();
  app->add_option("-c,--collective", flags->collective, "allreduce or alltoall")
      ->capture_default_str();
  app->add_option("--bytes", flags->size,
                  "Buffer size that the time is for; of alltoall, of what each rank puts in")
      ->capture_default_str();
  app->add_option("-o,--output", flags->output,
                  "Write the best network here ('-': standard output, as JSON)");
  app->add_option("--format", flags->format,
                  "json, dot or graphml; by the file's name if not given")
      ->check(network_formats());
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer("Example: multitree design --ranks 64 --ports 4 -o net.json");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
