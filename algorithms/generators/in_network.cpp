// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees in which switches add on the way up and copy on the way down: every rank sends a vector
/// once and receives it once (NVLink SHARP, InfiniBand SHARP).
#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/in_network.hpp"
#include "algorithms/certificate/in_network_trees_internal.hpp"
#include "algorithms/combined_routes.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/packing/chunks/pipeline.hpp"
#include "algorithms/packing/steps/stream_trees.hpp"

namespace multitree {
namespace {

/// To fill and to drain the pipeline; chunks may be small, as switches take no time for a message.
constexpr Pipeline kStream{.fill = 0.004, .most_transfers = 1U << 21, .least_bytes = 1 << 10};

std::optional<std::string> needs_abilities(const Topology& topology) {
  if (!topology.has_abilities()) {
    return fmt::format(
        "in-network on {}: expected switches that add and copy, {}; say switches=add,copy "
        "in the spec, or adds and copies in the file",
        topology.name(), topology.has_switches() ? "those here only forward" : "there are none");
  }
  if (has_in_network_trees(topology)) return std::nullopt;
  return fmt::format(
      "in-network on {}: expected links in pairs of equal bandwidth and latency, and of each "
      "switch that it adds and copies or does neither",
      topology.name());
}

/// The packing of the all-reduce, in which its optimum is known or nearly so.
TreePacking in_network_packing(const Topology& topology, Collective collective) {
  InNetworkOptimum optimum = solve_in_network(topology, kQuickProgramNodes);
  TreePacking packing;
  packing.collective = collective;
  packing.ranks = topology.num_ranks();
  packing.in_network = true;
  packing.trees = std::move(optimum.trees);
  packing.routes = std::move(optimum.routes);
  return packing;
}

/// The trees that spread from `root`: the same ones, turned to it.
void add_turned(const TreePacking& all_reduce, const Topology& topology, Rank root,
                TreePacking& packing) {
  for (const PackedTree& tree : all_reduce.trees) {
    PackedTree& turned = packing.trees.emplace_back();
    turned.root = root;
    turned.weight = tree.weight;
    turned.gather =
        InNetworkTree(tree.gather, all_reduce.routes, topology).arcs_from(root, packing.routes);
  }
}

/// In as many pieces as are worth their messages.
Schedule streamed(const TreePacking& packing, const Topology& topology, const Spec& spec) {
  std::uint32_t segments = segments_option(spec);
  const std::uint64_t bytes = size_option(spec);
  const CostModel cost{message_option(spec)};
  if (segments != 0 || packing.ranks < 2) {
    return stream_trees(packing, topology, std::max(1U, segments), bytes);
  }
  segments = pipeline_segments(packing, topology, 2 * depth(packing), bytes, kStream);
  Schedule best = stream_trees(packing, topology, segments, bytes);
  for (Time time = predict_time(best, topology, bytes, cost); segments > 1;) {
    segments = (segments + 1) / 2;
    Schedule coarser = stream_trees(packing, topology, segments, bytes);
    const Time other = predict_time(coarser, topology, bytes, cost);
    if (other > time) break;
    best = std::move(coarser);
    time = other;
  }
  return best;
}

Schedule in_network_all_reduce(const Topology& topology, const Spec& spec) {
  return streamed(in_network_packing(topology, Collective::AllReduce), topology, spec);
}

TreePacking spreading_packing(const Topology& topology, Collective collective) {
  TreePacking packing;
  packing.collective = collective;
  packing.ranks = topology.num_ranks();
  packing.in_network = true;
  return packing;
}

Schedule in_network_all_gather(const Topology& topology, const Spec& spec) {
  const TreePacking trees = in_network_packing(topology, Collective::AllReduce);
  TreePacking packing = spreading_packing(topology, Collective::AllGather);
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    add_turned(trees, topology, Rank{r}, packing);
  }
  return streamed(packing, topology, spec);
}

Schedule in_network_broadcast(const Topology& topology, Rank root, const Spec& spec) {
  const TreePacking trees = in_network_packing(topology, Collective::AllReduce);
  TreePacking packing = spreading_packing(topology, Collective::Broadcast);
  packing.root = root;
  add_turned(trees, topology, root, packing);
  return streamed(packing, topology, spec);
}

}  // namespace

Algorithm in_network_algorithm() {
  return {.name = "in-network",
          .summary = "switches add on the way up a tree and copy on the way down",
          .source =
              "SHARP (Graham et al., COMHPC 2016); NVLink SHARP (Klenk et al., ISCA 2020); "
              "trees by column generation",
          .parameters =
              "segments=N: pieces of a tree of mean weight (default: about 0.4% to fill the "
              "pipeline); size=BYTES, message=TIME: size and cost of a message to choose for "
              "(default 64MiB, 0ns)",
          .unsupported = needs_abilities,
          .all_gather = in_network_all_gather,
          .broadcast = in_network_broadcast,
          .all_reduce = in_network_all_reduce,
          .variants = "segments=1|segments=4|segments=32",
          .asks_size = true};
}

}  // namespace multitree
