// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree topology`: a network in numbers, or written to a file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/bounds.hpp"
#include "algorithms/written_out.hpp"
#include "tools/command.hpp"
#include "tools/large.hpp"
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

/// A network in numbers that need no more than a look at each rank and link.
struct Numbers {
  std::uint64_t ranks = 0, switches = 0, links = 0;
  std::map<std::pair<Bandwidth, Time>, std::uint64_t> kinds;
  std::size_t least_degree = SIZE_MAX, most_degree = 0;
};

Numbers numbers_of(const Topology& topology) {
  Numbers numbers{.ranks = topology.num_ranks(),
                  .switches = topology.num_nodes() - topology.num_ranks(),
                  .links = topology.num_links(),
                  .kinds = {}};
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const std::size_t degree = topology.out_links(topology.node_of(Rank{r})).size();
    numbers.least_degree = std::min(numbers.least_degree, degree);
    numbers.most_degree = std::max(numbers.most_degree, degree);
  }
  for (const Link& link : topology.links()) ++numbers.kinds[{link.bandwidth, link.latency}];
  return numbers;
}

/// Of ranks that are linked to each other, without the network.
Numbers numbers_of(const AlikeRanks& alike) {
  const std::uint32_t ranks = alike.graph.size(), degree = alike.graph.degree();
  Numbers numbers{.ranks = ranks,
                  .links = std::uint64_t{ranks} * degree,
                  .kinds = {},
                  .least_degree = degree,
                  .most_degree = degree};
  for (std::uint32_t s = 0; s < degree; ++s) {
    const LinkOrbits::Orbit& orbit = alike.links.orbits[alike.links.way(s).front()];
    numbers.kinds[{orbit.bandwidth, orbit.latency}] += ranks;
  }
  return numbers;
}

/// Without bounds where there are too many ranks for them that are not alike.
ordered_json summary(const std::string& name, const Numbers& numbers,
                     const std::optional<Bounds>& computed) {
  ordered_json links = ordered_json::array();
  for (const auto& [kind, count] : numbers.kinds) {
    links.push_back({{"count", count},
                     {"bandwidth", to_string(kind.first)},
                     {"latency", to_string(kind.second)}});
  }
  const bool equal = numbers.least_degree == numbers.most_degree;
  ordered_json json = {
      {"name", name},
      {"ranks", numbers.ranks},
      {"switches", numbers.switches},
      {"links", numbers.links},
      {"link_kinds", links},
      {"rank_degree", equal ? fmt::format("{}", numbers.least_degree)
                            : fmt::format("{}..{}", numbers.least_degree, numbers.most_degree)}};
  if (!computed) return json;
  const Bounds& bounds = *computed;
  json.update({{"diameter", bounds.diameter},
               {"allgather_bound_shards", tools::to_text(bounds.all_gather)},
               {"reduce_scatter_bound_shards", tools::to_text(bounds.reduce_scatter)},
               {"bottleneck_ranks", bounds.bottleneck.size()},
               {"bound_model", "store and forward, reduce-scatter + allgather"}});
  if (numbers.ranks > 1) {
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

/// The diameter and exact bounds, from one rank where all are alike.
std::optional<Bounds> bounds_for(const LoadedNetwork& network) {
  if (network.alike) return bounds_of_alike(network);
  if (network.topology->num_ranks() > kMostWrittenOut) return std::nullopt;
  return compute_bounds(*network.topology);
}

int run(const TopologyFlags& flags) {
  LoadedNetwork network;
  if (flags.output.empty()) {
    network = load_large(flags.network);
  } else {
    network.topology = load_network(flags.network);
    network.name = network.topology->name();
    write_network(*network.topology, flags.output, flags.format);
    if (flags.output == "-") return kOk;
  }
  ordered_json json;
  {
    const Progress progress("computing exact bounds of " + network.name);
    json = summary(network.name,
                   network.topology ? numbers_of(*network.topology) : numbers_of(*network.alike),
                   bounds_for(network));
  }
  if (!json.contains("diameter")) {
    print_error(
        fmt::format("multitree: {}: diameter and bounds are left out: expected at most {} "
                    "ranks that are not all alike for them, got {}\n",
                    network.name, kMostWrittenOut, network.topology->num_ranks()));
  }
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
