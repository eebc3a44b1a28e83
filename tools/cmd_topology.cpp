// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree topology`: a network in numbers, or written to a file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "algorithms/bounds.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct TopologyFlags {
  NetworkFlags network;
  std::string output;
  std::string format;
  bool json = false;
};

std::string degree_text(const Topology& topology) {
  std::size_t least = SIZE_MAX, most = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const std::size_t degree = topology.out_links(topology.node_of(Rank{r})).size();
    least = std::min(least, degree);
    most = std::max(most, degree);
  }
  return least == most ? fmt::format("{}", least) : fmt::format("{}..{}", least, most);
}

ordered_json summary(const Topology& topology, const Bounds& bounds) {
  std::map<std::pair<Bandwidth, Time>, std::uint32_t> kinds;
  for (const Link& link : topology.links()) ++kinds[{link.bandwidth, link.latency}];
  ordered_json links = ordered_json::array();
  for (const auto& [kind, count] : kinds) {
    links.push_back({{"count", count},
                     {"bandwidth", to_string(kind.first)},
                     {"latency", to_string(kind.second)}});
  }
  ordered_json json = {{"name", topology.name()},
                       {"ranks", topology.num_ranks()},
                       {"switches", topology.num_nodes() - topology.num_ranks()},
                       {"links", topology.num_links()},
                       {"link_kinds", links},
                       {"rank_degree", degree_text(topology)},
                       {"diameter", bounds.diameter},
                       {"allgather_bound_shards", tools::to_text(bounds.all_gather)},
                       {"reduce_scatter_bound_shards", tools::to_text(bounds.reduce_scatter)},
                       {"bottleneck_ranks", bounds.bottleneck.size()},
                       {"bound_model", "store and forward, reduce-scatter + allgather"}};
  if (topology.num_ranks() > 1) {
    json["ideal_algbw_GBps"] = bounds.ideal_algbw();
    json["ideal_busbw_GBps"] = bounds.ideal_busbw();
  }
  return json;
}

void print_summary(const ordered_json& json) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    std::string shown;
    if (value.is_array()) {
      for (const auto& kind : value) {
        shown +=
            fmt::format("{}{} x {} {}", shown.empty() ? "" : ", ", kind["count"].get<int>(),
                        kind["bandwidth"].get<std::string>(), kind["latency"].get<std::string>());
      }
    } else {
      shown = value.is_string() ? value.get<std::string>() : value.dump();
    }
    text += fmt::format("{:<28} {}\n", key, shown);
  }
  print(text);
}

int run(const TopologyFlags& flags) {
  const Topology topology = load_network(flags.network);
  if (!flags.output.empty()) {
    write_network(topology, flags.output, flags.format);
    if (flags.output == "-") return kOk;
  }
  const Progress progress("computing exact bounds of " + topology.name());
  const ordered_json json = summary(topology, compute_bounds(topology));
  if (flags.json) {
    print_json(json);
  } else {
    print_summary(json);
  }
  return kOk;
}

}  // namespace

Command add_topology_command(CLI::App& parent) {
  auto flags = std::make_shared<TopologyFlags>();
  CLI::App* app = parent.add_subcommand("topology", "Describe a network, or write it to a file");
  app->require_subcommand(0, 1);
  const CLI::Option* topology = add_network_flags(*app, flags->network);
  app->add_option("-o,--output", flags->output, "Write the network here ('-': standard output)");
  app->add_option("--format", flags->format, "Of the output; by its extension if not given")
      ->check(network_formats());
  app->add_flag("--json", flags->json, "Print the description as JSON");
  const Command discover = add_topology_discover_command(*app);
  app->footer("Example: multitree topology -t 'torus:4x4?bw=50GB/s&lat=500ns' -o net.json");
  return {app, [flags, discover, topology] {
            const bool given = topology->count() > 0;
            if (given != discover.app->parsed()) return given ? run(*flags) : discover.run();
            throw Error(ErrorCode::InvalidArgument,
                        given ? fmt::format("discover: expected no --topology, got '{}'",
                                            flags->network.topology)
                              : "--topology is required; see 'multitree topology --help'");
          }};
}

}  // namespace multitree::tools
