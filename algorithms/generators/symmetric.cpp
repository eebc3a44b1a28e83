// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One tree with times, moved to every rank: as few steps as possible where all ranks are alike.
#include <algorithm>
#include <utility>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/symmetric/cayley_network.hpp"
#include "algorithms/symmetric/translation_tree.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

std::optional<std::string> unsupported(const Topology& topology) {
  std::string reason;
  if (find_cayley_network(topology, reason)) return std::nullopt;
  return reason;
}

CayleyNetwork network_of(const Topology& topology) {
  std::string reason;
  auto network = find_cayley_network(topology, reason);
  if (!network) throw Error(ErrorCode::Unsupported, "symmetric: " + reason);
  return std::move(*network);
}

/// Adds the translate of the tree to `root`, for chunk `chunk`.
void add_translate(const CayleyNetwork& network, const TranslationTree& tree,
                   const std::vector<std::uint32_t>& steps, std::uint32_t root, std::uint32_t chunk,
                   Schedule& schedule) {
  const CayleyGraph& graph = network.graph;
  for (std::uint32_t x = 1; x < graph.size(); ++x) {
    const std::uint32_t to = graph.group().multiply(root, x);
    const std::uint32_t from = graph.apply(to, graph.inverse(tree.generator[x]));
    const LinkId link = network.link(from, tree.generator[x]);
    schedule.add(steps[x], Op::Copy, chunk, Rank{from}, Rank{to}, {&link, 1});
  }
}

Schedule all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const CayleyNetwork network = network_of(topology);
  const TranslationTree tree = make_translation_tree(network.graph);
  Schedule schedule = all_gather_header(topology);
  for (std::uint32_t root = 0; root < schedule.ranks; ++root) {
    add_translate(network, tree, tree.step, root, root, schedule);
  }
  schedule.canonicalize();
  return schedule;
}

/// Alone, a tree uses each link once at most and need not wait: level by level.
std::vector<std::uint32_t> levels(const CayleyGraph& graph, const TranslationTree& tree) {
  std::vector<std::uint32_t> order(tree.step.size()), level(tree.step.size(), 0);
  for (std::uint32_t x = 0; x < order.size(); ++x) order[x] = x;
  std::ranges::sort(order, {}, [&](std::uint32_t x) { return tree.step[x] + 1; });
  for (const std::uint32_t x : order) {
    if (x == 0) continue;
    const std::uint32_t parent = graph.apply(x, graph.inverse(tree.generator[x]));
    level[x] = parent == 0 ? 0 : level[parent] + 1;
  }
  return level;
}

Schedule broadcast(const Topology& topology, Rank root, const Spec& options) {
  const CayleyNetwork network = network_of(topology);
  const TranslationTree tree = make_translation_tree(network.graph);
  Schedule base = broadcast_header(topology, root, 1);
  add_translate(network, tree, levels(network.graph, tree), index(root), 0, base);
  base.canonicalize();
  return faster_broadcast(base, segments_option(options), topology,
                          [&] { return all_gather(topology, options); });
}

}  // namespace

Algorithm symmetric_algorithm() {
  return {
      .name = "symmetric",
      .summary = "one tree moved to every rank; fewest steps on tori, hypercubes, full networks",
      .source = "translates on Cayley graphs; scarcity-first matching",
      .parameters =
          "segments=N: broadcast and reduce over one tree in N pieces (default: that or "
          "scatter and all trees, whichever is faster)",
      .unsupported = unsupported,
      .all_gather = all_gather,
      .broadcast = broadcast,
      .all_reduce = nullptr};
}

}  // namespace multitree
