// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-gather over trees that load no link more than a minimum cut demands, on any network.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/pieces_internal.hpp"
#include "algorithms/packing/chunks/pipeline.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/gather_packing.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kMaxTreesPerRoot = 1U << 16;

std::uint32_t trees_option(const Spec& options) {
  return options.get_number("k", 0, 1, kMaxTreesPerRoot);
}

/// So many pieces that filling the pipeline costs little; trees of depth one have none.
std::uint32_t gather_segments(const TreePacking& packing, const Topology& topology,
                              std::uint64_t bytes) {
  constexpr Pipeline kPipeline{.fill = 0.05, .most_transfers = 1U << 19};
  const std::uint32_t hops = std::max(depth(packing), 1U) - 1;
  return pipeline_segments(packing, topology, hops, bytes, kPipeline);
}

Schedule forest_all_gather(const Topology& topology, const Spec& options) {
  const std::uint32_t trees = trees_option(options);
  const std::string name = fmt::format("forest of {}", trees);
  const SharedPacking shared =
      ScheduleStore::packing(topology, name, [&] { return pack_all_gather(topology, trees); });
  const TreePacking& packing = *shared;
  const std::uint64_t bytes = size_option(options);
  const Time message = message_option(options);
  const std::uint32_t segments = segments_option(options);
  if (segments != 0) return time_trees(packing, topology, {.segments = segments});
  const TimingOptions most{.segments = gather_segments(packing, topology, bytes)};
  return time_trees_in_pieces(name, packing, topology, most, bytes, message)->schedule();
}

/// Pieces of a tree so that filling the pipeline takes about an eighth of the time, as long as that
/// is not too many transfers.
std::uint32_t broadcast_segments(const TreePacking& packing) {
  constexpr std::uint64_t kMaxTransfers = 1U << 18;
  std::uint64_t arcs = 1;
  for (const PackedTree& tree : packing.trees) arcs += tree.gather.size();
  const std::uint64_t wanted = 8 * std::uint64_t{std::max(depth(packing), 1U) - 1} + 1;
  return static_cast<std::uint32_t>(std::min(wanted, kMaxTransfers / arcs + 1));
}

Schedule forest_broadcast(const Topology& topology, Rank root, const Spec& options) {
  const std::uint64_t bytes = size_option(options);
  const Time message = message_option(options);
  const std::uint32_t trees = trees_option(options);
  const std::string name = fmt::format("forest of {} at {}", trees, index(root));
  const SharedPacking shared =
      ScheduleStore::packing(topology, name, [&] { return pack_broadcast(topology, root, trees); });
  const TreePacking& packing = *shared;
  const std::uint32_t segments = segments_option(options);
  if (segments != 0) return time_trees(packing, topology, {.segments = segments});
  return time_trees_in_pieces(name, packing, topology, {.segments = broadcast_segments(packing)},
                              bytes, message)
      ->schedule();
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
              "broadcast and reduce: about 1/8); size=BYTES, message=TIME: size and cost of "
              "a message that segments are chosen for (default: 64MiB, 0ns)",
          .unsupported = supports_all,
          .all_gather = forest_all_gather,
          .broadcast = forest_broadcast,
          .variants = "segments=1|segments=4",
          .asks_size = true};
}

}  // namespace multitree
