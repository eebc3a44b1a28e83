// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-gather over trees that load no link more than a minimum cut demands, on any network.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

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

/// Beyond this many ranks no fewer trees than the optimum's are tried.
constexpr std::uint32_t kMaxFewer = 64;
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

/// What a schedule is asked for.
struct Asked {
  explicit Asked(const Spec& options)
      : trees(trees_option(options)),
        segments(segments_option(options)),
        piece(piece_option(options)),
        bytes(size_option(options)),
        message(message_option(options)) {}

  [[nodiscard]] bool is_for_messages() const {
    return segments == 0 && piece == 0 && message != Time{};
  }

  std::uint32_t trees, segments;  // 0: not given
  std::uint64_t piece;            // 0: not given
  std::uint64_t bytes;
  Time message;
};

/// Packs so many trees, 0 for as many as the optimum takes.
using Pack = std::function<TreePacking(std::uint32_t trees)>;

/// One network's trees, and ways to time them.
class Forest {
 public:
  /// `what`: is packed, among all of the network
  Forest(std::string what, const Topology& topology, const Pipeline& pipeline, Pack pack)
      : what_(std::move(what)), topology_(topology), pipeline_(pipeline), pack_(std::move(pack)) {}

  [[nodiscard]] SharedPacking packing(std::uint32_t trees) const {
    return ScheduleStore::packing(topology_, name(trees), [&] { return pack_(trees); });
  }
  /// Of so many trees, in so many segments, for all sizes.
  [[nodiscard]] Schedule plain(std::uint32_t trees, std::uint32_t segments,
                               std::uint64_t bytes) const {
    const SharedPacking packed = packing(trees);
    FastestSchedule only(bytes, Time{});
    TreesToTime plain = to_time(trees, *packed);
    plain.segments = segments;
    consider_plain_trees(only, plain);
    return only.best()->schedule();
  }
  /// Segments of so many trees for chunks of `piece` bytes.
  [[nodiscard]] std::uint32_t segments_of(std::uint32_t trees, std::uint64_t bytes,
                                          std::uint64_t piece) const {
    return piece_segments(*packing(trees), bytes, piece, pipeline_.most_transfers);
  }
  /// Considers so many trees.
  void consider(FastestSchedule& fastest, std::uint32_t trees) const {
    const SharedPacking packed = packing(trees);
    consider_trees(fastest, to_time(trees, *packed));
  }
  /// Considers fewer trees than the optimum takes.
  void consider_fewer(FastestSchedule& fastest) const {
    if (topology_.num_ranks() == 1 || topology_.num_ranks() > kMaxFewer) return;
    consider(fastest, 1);
    consider_fewer_trees(fastest, [&](std::uint32_t trees) { consider(fastest, trees); });
  }

 private:
  [[nodiscard]] std::string name(std::uint32_t trees) const {
    return fmt::format("forest of {}{}", trees, what_);
  }
  [[nodiscard]] TreesToTime to_time(std::uint32_t trees, const TreePacking& packed) const {
    // Filling the pipeline takes all hops but one; trees of depth one have none.
    return {.name = name(trees),
            .packing = packed,
            .topology = topology_,
            .hops = std::max(depth(packed), 1U) - 1,
            .pipeline = pipeline_,
            .timing = {}};
  }

  std::string what_;
  const Topology& topology_;
  const Pipeline& pipeline_;
  Pack pack_;
};

Schedule forest_all_gather(const Topology& topology, const Spec& options) {
  Asked asked(options);
  const Forest forest("", topology, kGather,
                      [&](std::uint32_t trees) { return pack_all_gather(topology, trees); });
  if (asked.is_for_messages()) {
    FastestSchedule fastest(asked.bytes, asked.message);
    forest.consider(fastest, asked.trees);
    return fastest.best()->schedule();
  }
  if (asked.piece != 0) asked.segments = forest.segments_of(asked.trees, asked.bytes, asked.piece);
  return forest.plain(asked.trees, asked.segments, asked.bytes);
}

Schedule forest_broadcast(const Topology& topology, Rank root, const Spec& options) {
  Asked asked(options);
  const Forest forest(fmt::format(" at {}", index(root)), topology, kBroadcast,
                      [&](std::uint32_t trees) { return pack_broadcast(topology, root, trees); });
  if (asked.is_for_messages()) {
    FastestSchedule fastest(asked.bytes, asked.message);
    forest.consider(fastest, asked.trees);
    if (asked.trees == 0) forest.consider_fewer(fastest);
    return fastest.best()->schedule();
  }
  if (asked.piece != 0) asked.segments = forest.segments_of(asked.trees, asked.bytes, asked.piece);
  if (asked.segments == 0) asked.segments = broadcast_segments(*forest.packing(asked.trees));
  return forest.plain(asked.trees, asked.segments, asked.bytes);
}

}  // namespace

Algorithm forest_algorithm() {
  return {
      .name = "forest",
      .summary = "trees that load no link more than a minimum cut demands; any network",
      .source =
          "Edmonds 1973; Bang-Jensen, Frank, Jackson 1995; Berczi, Frank 2010; ForestColl 2024",
      .parameters =
          "k=N: trees per root, as fast as so many can be (default: as many as the optimum "
          "takes; broadcast and reduce: or fewer, where message is given); segments=N: pieces "
          "of a tree (default: about 5% to fill the pipeline; "
          "broadcast and reduce: about 1/8, or 1% where message is given); piece=BYTES: instead "
          "of segments, pieces of about so many bytes, with trees that are the same whatever "
          "the size and message; size=BYTES, "
          "message=TIME: size and cost of a message that segments and their order are chosen "
          "for (default: 64MiB, 0ns)",
      .unsupported = supports_all,
      .all_gather = forest_all_gather,
      .broadcast = forest_broadcast,
      .variants = "segments=1|segments=4",
      .asks_size = true};
}

}  // namespace multitree
