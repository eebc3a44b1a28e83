// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree export`: pictures of networks and trees.
#include <fmt/format.h>

#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "tools/command.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

struct Flags {
  std::string format;
  std::string schedule;
  NetworkFlags network;
  std::string algorithm;
  std::string output = "-";
  std::uint32_t chunk = 0;
};

std::string picture(const Flags& flags) {
  if (!flags.schedule.empty()) {
    const SchedulePlan plan = load_schedule(flags.schedule);
    return for_flag("--chunk",
                    [&] { return write_tree_dot(plan.schedule, plan.topology, flags.chunk); });
  }
  if (flags.network.topology.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "export: expected --schedule or --topology, got neither");
  }
  const Topology topology = load_network(flags.network);
  if (flags.algorithm.empty()) return write_topology_dot(topology);
  const Schedule schedule = for_flag("--algorithm", [&] {
    return make_schedule(flags.algorithm, topology, Collective::AllGather);
  });
  return for_flag("--chunk", [&] { return write_tree_dot(schedule, topology, flags.chunk); });
}

}  // namespace

Command add_export_command(CLI::App& parent) {
  auto flags = std::make_shared<Flags>();
  CLI::App* app = parent.add_subcommand("export", "Draw a network or one tree of a schedule");
  app->add_option("format", flags->format, "dot: Graphviz text, for `dot -Tsvg`")
      ->required()
      ->check(one_of({"dot"}));
  auto* schedule =
      app->add_option("-s,--schedule", flags->schedule, "Draw a tree of this schedule file");
  add_network_flags(*app, flags->network)->excludes(schedule);
  app->add_option("-a,--algorithm", flags->algorithm,
                  "... or a tree of this algorithm's all-gather on it");
  app->add_option("--chunk", flags->chunk, "Whose tree")
      ->check(number_from(0))
      ->capture_default_str();
  app->add_option("-o,--output", flags->output, "File ('-': standard output)")
      ->capture_default_str();
  app->footer(
      "Example: multitree export dot -t torus:4x4 -a multitree --chunk 5 | dot -Tsvg -o tree.svg");
  return {app, [flags] {
            write_file(flags->output, picture(*flags));
            return static_cast<int>(kOk);
          }};
}

}  // namespace multitree::tools
