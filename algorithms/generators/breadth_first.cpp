// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// As many rounds as the network's diameter: every rank gets every shard over shortest paths, level
/// by level, divided among the links it may come by so that all are equally busy. L. Zhao et al.:
/// "Efficient direct-connect topologies for collective communications" (breadth-first broadcast),
/// arXiv 2202.03356. Least latency, and where the links of each level can be filled evenly (tori,
/// hypercubes) least bandwidth too.
#include <algorithm>
#include <map>
#include <numeric>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/level_loads_internal.hpp"

namespace multitree {
namespace {

/// The most pieces that a shard is cut into, and the most transfers by default.
constexpr std::uint32_t kMaxPieces = 64, kMaxDefaultPieces = 12;
constexpr std::uint64_t kMaxTransfersByDefault = 1U << 22;

std::optional<std::string> breadth_first_unsupported(const Topology& topology) {
  if (topology.has_switches()) {
    return "breadth-first: expected a direct network, but " + topology.name() + " has switches";
  }
  return std::nullopt;
}

/// Hops from every rank to one.
std::vector<std::uint32_t> hops_to(const Topology& topology, Rank to) {
  return hops_from(topology.num_nodes(), index(topology.node_of(to)),
                   [&](std::uint32_t node, const auto& meet) {
                     for (const LinkId id : topology.in_links(NodeId{node})) {
                       meet(index(topology.link(id).src));
                     }
                   });
}

/// Roots whose shards come to a node in one level by the same links.
struct Group {
  std::vector<std::uint32_t> links;  ///< positions in the node's in_links()
  std::vector<Rank> roots;
};
/// groups[v][level-1]: what comes to rank v in a level.
using Levels = std::vector<std::vector<std::vector<Group>>>;

Levels find_levels(const Topology& topology) {
  const std::uint32_t ranks = topology.num_ranks();
  std::vector<std::vector<std::uint32_t>> hops(ranks);  // [to][from node]
  for (std::uint32_t v = 0; v < ranks; ++v) hops[v] = hops_to(topology, Rank{v});
  Levels levels(ranks);
  for (std::uint32_t v = 0; v < ranks; ++v) {
    const auto in = topology.in_links(topology.node_of(Rank{v}));
    std::vector<std::map<std::vector<std::uint32_t>, std::vector<Rank>>> found;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const std::uint32_t level = hops[v][index(topology.node_of(Rank{r}))];
      if (level == 0) continue;
      std::vector<std::uint32_t> links;
      for (std::uint32_t l = 0; l < in.size(); ++l) {
        const NodeId parent = topology.link(in[l]).src;
        const std::uint32_t u = index(*topology.node(parent).rank);
        if (hops[u][index(topology.node_of(Rank{r}))] + 1 == level) links.push_back(l);
      }
      if (found.size() < level) found.resize(level);
      found[level - 1][links].push_back(Rank{r});
    }
    for (auto& groups : found) {
      auto& level = levels[v].emplace_back();
      for (auto& [links, roots] : groups) level.push_back({links, std::move(roots)});
    }
  }
  return levels;
}

/// loads[v][level] for shards of so many pieces. Nodes that are alike share one answer.
std::vector<std::vector<LevelLoads>> share_all(const Topology& topology, const Levels& levels,
                                               std::uint32_t pieces) {
  using Key = std::pair<std::vector<Arrivals>, std::vector<std::uint32_t>>;
  std::map<Key, LevelLoads> known;
  std::vector<std::vector<LevelLoads>> loads(levels.size());
  for (std::uint32_t v = 0; v < levels.size(); ++v) {
    std::vector<std::uint32_t> slots;
    for (const LinkId id : topology.in_links(topology.node_of(Rank{v}))) {
      slots.push_back(topology.slots(id));
    }
    for (const auto& groups : levels[v]) {
      std::vector<Arrivals> arrivals;
      for (const Group& group : groups) {
        arrivals.push_back({group.links, group.roots.size() * pieces});
      }
      const auto [entry, is_new] = known.try_emplace({arrivals, slots});
      if (is_new) entry->second = share_level(arrivals, slots);
      loads[v].push_back(entry->second);
    }
  }
  return loads;
}

/// First step of each level, and one past the last.
std::vector<std::uint32_t> level_starts(const std::vector<std::vector<LevelLoads>>& loads) {
  std::vector<std::uint32_t> starts{0};
  for (std::size_t level = 0;; ++level) {
    std::uint64_t steps = 0;
    for (const auto& node : loads) {
      if (level < node.size()) steps = std::max(steps, node[level].steps);
    }
    if (steps == 0) return starts;
    starts.push_back(starts.back() + static_cast<std::uint32_t>(steps));
  }
}

/// Adds what comes to rank v in one level. Every parent has whole shards by then, so any piece may
/// come by any of the links.
void add_level(const Topology& topology, std::uint32_t v, const std::vector<Group>& groups,
               const LevelLoads& loads, std::uint32_t start, std::uint32_t pieces,
               Schedule& schedule) {
  const auto in = topology.in_links(topology.node_of(Rank{v}));
  std::vector<std::uint32_t> carried(in.size(), 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<std::uint64_t> left = loads.units[g];
    std::size_t choice = 0;
    for (const Rank root : groups[g].roots) {
      for (std::uint32_t piece = 0; piece < pieces; ++piece) {
        while (left[choice] == 0) ++choice;
        --left[choice];
        const std::uint32_t l = groups[g].links[choice];
        const Rank parent = *topology.node(topology.link(in[l]).src).rank;
        schedule.add(start + carried[l]++ / topology.slots(in[l]), Op::Copy,
                     index(root) * pieces + piece, parent, Rank{v}, {&in[l], 1});
      }
    }
  }
}

/// The number of pieces with the least steps for a shard, there and back (an all-reduce needs both
/// with the same pieces); the smallest of several.
std::uint32_t default_pieces(const Topology& topology, const Levels& levels) {
  const std::uint64_t ranks = topology.num_ranks();
  const bool symmetric = topology.is_symmetric();
  const Topology back = symmetric ? topology : topology.transposed();
  const Levels levels_back = symmetric ? Levels{} : find_levels(back);
  std::uint32_t best = 1, best_steps = 0;
  for (std::uint32_t pieces = 1; pieces <= kMaxDefaultPieces; ++pieces) {
    if (pieces > 1 && ranks * ranks * pieces > kMaxTransfersByDefault) break;
    std::uint32_t steps = level_starts(share_all(topology, levels, pieces)).back();
    if (!symmetric) steps += level_starts(share_all(back, levels_back, pieces)).back();
    if (pieces > 1 && std::uint64_t{steps} * best >= std::uint64_t{best_steps} * pieces) continue;
    best = pieces;
    best_steps = steps;
  }
  return best;
}

Schedule breadth_first_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const Levels levels = find_levels(topology);
  std::uint32_t pieces = options.get_number("pieces", 0, 1, kMaxPieces);
  if (pieces == 0) pieces = default_pieces(topology, levels);
  Schedule schedule = all_gather_header(topology, pieces);
  const auto loads = share_all(topology, levels, pieces);
  const std::vector<std::uint32_t> starts = level_starts(loads);
  for (std::uint32_t v = 0; v < levels.size(); ++v) {
    for (std::size_t level = 0; level < levels[v].size(); ++level) {
      add_level(topology, v, levels[v][level], loads[v][level], starts[level], pieces, schedule);
    }
  }
  schedule.canonicalize();
  return schedule;
}

/// A tree of shortest paths: alone, it uses each link once at most and need not wait.
Schedule breadth_first_broadcast(const Topology& topology, Rank root, const Spec& options) {
  Schedule tree = broadcast_header(topology, root, 1);
  BreadthFirst search(topology.num_nodes());
  search.run(index(topology.node_of(root)), [&](std::uint32_t from) {
    for (const LinkId& id : topology.out_links(NodeId{from})) {
      const NodeId to = topology.link(id).dst;
      if (!search.meet(index(to))) continue;
      tree.add(search.hops(from), Op::Copy, 0, *topology.node(NodeId{from}).rank,
               *topology.node(to).rank, {&id, 1});
    }
  });
  tree.canonicalize();
  return faster_broadcast(tree, segments_option(options), topology,
                          [&] { return breadth_first_all_gather(topology, options); });
}

}  // namespace

Algorithm breadth_first_algorithm() {
  return {
      .name = "breadth-first",
      .summary = "all trees level by level: as many rounds as the diameter, links filled evenly",
      .source = "Zhao et al., arXiv 2202.03356",
      .parameters =
          "pieces=N: that a shard is cut into, 1 to 64 (default: up to 12, what is "
          "fastest); segments=N: broadcast and reduce over one tree in N pieces",
      .unsupported = breadth_first_unsupported,
      .all_gather = breadth_first_all_gather,
      .broadcast = breadth_first_broadcast,
      .variants = "pieces=1"};
}

}  // namespace multitree
