// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-gather over trees that load no link more than a minimum cut demands, on any network.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "algorithms/generators/fastest_trees_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/packing/chunks/pipeline.hpp"
#include "algorithms/packing/trees/gather_packing.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kMaxTreesPerRoot = 1U << 16;

std::uint32_t trees_option(const Spec& options) {
  return options.get_number("k", 0, 1, kMaxTreesPerRoot);
}

constexpr Pipeline kGather{.fill = 0.05, .most_transfers = 1U << 19};
constexpr Pipeline kBroadcast{.fill = 0.01, .most_transfers = 1U << 18};

/// Pieces of a tree so that filling the pipeline takes about an eighth of the time, as long as that
/// is not too many transfers: for all sizes.
std::uint32_t broadcast_segments(const TreePacking& packing) {
  constexpr std::uint64_t kMaxTransfers = 1U << 18;
  std::uint64_t arcs = 1;
  for (const PackedTree& tree : packing.trees) arcs += tree.gather.size();
  const std::uint64_t wanted = 8 * std::uint64_t{std::max(depth(packing), 1U) - 1} + 1;
  return static_cast<std::uint32_t>(std::min(wanted, kMaxTransfers / arcs + 1));
}

/// `what`: the packing's name, among all of the network. `segments`: 0 for as many as are worth it.
Schedule timed(const TreePacking& packing, const std::string& what, const Topology& topology,
               const Pipeline& pipeline, std::uint32_t segments, const Spec& options) {
  // Filling the pipeline takes all hops but one; trees of depth one have none.
  const TreesToTime trees{.name = what,
                          .packing = packing,
                          .topology = topology,
                          .hops = std::max(depth(packing), 1U) - 1,
                          .pipeline = pipeline,
                          .segments = segments,
                          .timing = {}};
  FastestSchedule fastest(size_option(options), message_option(options));
  if (trees.segments != 0 || fastest.message() == Time{}) {
    consider_plain_trees(fastest, trees);
  } else {
    consider_trees(fastest, trees);
  }
  return fastest.best()->schedule();
}

Schedule forest_all_gather(const Topology& topology, const Spec& options) {
  const std::uint32_t trees = trees_option(options);
  const std::string name = fmt::format("forest of {}", trees);
  const SharedPacking packing =
      ScheduleStore::packing(topology, name, [&] { return pack_all_gather(topology, trees); });
  return timed(*packing, name, topology, kGather, segments_option(options), options);
}

Schedule forest_broadcast(const Topology& topology, Rank root, const Spec& options) {
  const std::uint32_t trees = trees_option(options);
  const std::string name = fmt::format("forest of {} at {}", trees, index(root));
  const SharedPacking packing =
      ScheduleStore::packing(topology, name, [&] { return pack_broadcast(topology, root, trees); });
  std::uint32_t segments = segments_option(options);
  if (segments == 0 && message_option(options) == Time{}) segments = broadcast_segments(*packing);
  return timed(*packing, name, topology, kBroadcast, segments, options);
}

}  // namespace

Algorithm forest_algorithm() {
  return {.name = "forest",
          .summary = "trees that load no link more than a minimum cut demands; any network",
          .source =
              "Edmonds 1973; Bang-Jensen, Frank, Jackson 1995; Berczi, Frank 2010; ForestColl 2024",
          .parameters =
              "k=N: trees per root, as fast as so many can be (default: as many as the optimum "
              "takes); segments=N: pieces of a tree (default: about 5% to fill the pipeline; "
              "broadcast and reduce: about 1/8, or 1% where message is given); size=BYTES, "
              "message=TIME: size and cost of a message that segments and their order are chosen "
              "for (default: 64MiB, 0ns)",
          .unsupported = supports_all,
          .all_gather = forest_all_gather,
          .broadcast = forest_broadcast,
          .variants = "segments=1|segments=4",
          .asks_size = true};
}

}  // namespace multitree
