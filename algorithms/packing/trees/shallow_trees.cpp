// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Stars, and stars of stars, where switches have room for them.
#include "algorithms/packing/trees/shallow_trees_internal.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "algorithms/packing/capacities/switch_routes_internal.hpp"

namespace multitree {
namespace {

using Groups = std::vector<std::vector<std::uint32_t>>;

/// The switch next to a rank that has the fewest ranks, two or more, next to it.
std::optional<NodeId> own_switch(const Topology& topology, Rank rank,
                                 const std::vector<std::uint32_t>& ranks_at) {
  std::optional<NodeId> own;
  for (const LinkId l : topology.out_links(topology.node_of(rank))) {
    const NodeId to = topology.link(l).dst;
    if (!topology.node(to).is_switch() || ranks_at[index(to)] < 2) continue;
    const auto key = [&](NodeId node) { return std::pair(ranks_at[index(node)], index(node)); };
    if (!own || key(to) < key(*own)) own = to;
  }
  return own;
}

/// Ranks by their own switch; a rank without one is a group.
Groups groups_of(const Topology& topology) {
  std::vector<std::uint32_t> ranks_at(topology.num_nodes(), 0);
  for (const Link& link : topology.links()) {
    if (topology.node(link.src).rank) ++ranks_at[index(link.dst)];
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_node;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const auto own = own_switch(topology, Rank{r}, ranks_at);
    by_node[index(own ? *own : topology.node_of(Rank{r}))].push_back(r);
  }
  Groups groups;
  for (auto& [node, members] : by_node) groups.push_back(std::move(members));
  return groups;
}

Groups single_ranks(std::uint32_t ranks) {
  Groups groups;
  for (std::uint32_t r = 0; r < ranks; ++r) groups.push_back({r});
  return groups;
}

/// Builds the trees for one way to group the ranks.
class ShallowForest {
 public:
  ShallowForest(const Topology& topology, std::span<const std::int64_t> capacity,
                std::span<const std::int64_t> demand, const Groups& groups, RouteChoice choice,
                std::int64_t pieces = 1)
      : ranks_(topology.num_ranks()),
        demand_(demand),
        groups_(groups),
        routes_(topology, capacity, choice, pieces),
        passes_on_(ranks_, 0),
        entries_(ranks_),
        arc_ids_(std::size_t{ranks_} * ranks_, kNone),
        group_of_(ranks_) {
    for (const auto& group : groups_) {
      for (const std::uint32_t r : group) group_of_[r] = &group;
    }
  }

  std::optional<RoutedTrees> build() && {
    if (!enter_groups() || !route_within_groups()) return std::nullopt;
    for (std::uint32_t root = 0; root < ranks_; ++root) {
      if (demand_[root] > 0) add_tree(root);
    }
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  bool take(std::uint32_t src, std::uint32_t dst, std::int64_t amount) {
    std::uint32_t& id = arc_ids_[std::size_t{src} * ranks_ + dst];
    RankArc arc{Rank{src}, Rank{dst}, 0, {}};
    RankArc& taken = id == kNone ? arc : result_.arcs[id];
    if (!routes_.take(Rank{src}, Rank{dst}, amount, taken)) return false;
    if (id == kNone) {
      id = static_cast<std::uint32_t>(result_.arcs.size());
      result_.arcs.push_back(std::move(arc));
    }
    return true;
  }

  /// From every root to one rank in each other group, first to the next group, and so on: shifts,
  /// which spread over the network.
  bool enter_groups() {
    for (std::size_t shift = 1; shift < groups_.size(); ++shift) {
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        for (std::size_t i = 0; i < groups_[g].size(); ++i) {
          if (!enter(groups_[g][i], i, groups_[(g + shift) % groups_.size()])) return false;
        }
      }
    }
    for (std::uint32_t root = 0; root < ranks_; ++root) passes_on_[root] += demand_[root];
    return true;
  }

  /// To the rank with the same place as the root's in its own group (a rail), or another one; from
  /// the root, or from another rank of its group if the root has no link with room.
  bool enter(std::uint32_t root, std::size_t place, const std::vector<std::uint32_t>& group) {
    if (demand_[root] == 0) return true;
    const std::vector<std::uint32_t>& own = *group_of_[root];
    for (std::size_t j = 0; j < own.size(); ++j) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        const std::uint32_t from = own[(place + j) % own.size()];
        const std::uint32_t to = group[(place + i) % group.size()];
        if (!take(from, to, demand_[root])) continue;
        passes_on_[to] += demand_[root];
        entries_[root].emplace_back(from, to);
        return true;
      }
    }
    return false;
  }

  bool route_within_groups() {
    for (const std::vector<std::uint32_t>& group : groups_) {
      for (std::size_t shift = 1; shift < group.size(); ++shift) {
        for (std::size_t i = 0; i < group.size(); ++i) {
          const std::uint32_t src = group[i], dst = group[(i + shift) % group.size()];
          if (passes_on_[src] > 0 && !take(src, dst, passes_on_[src])) return false;
        }
      }
    }
    return true;
  }

  void add_tree(std::uint32_t root) {
    PackedTree& tree = result_.trees.emplace_back();
    tree.root = Rank{root};
    tree.weight = static_cast<std::uint64_t>(demand_[root]);
    const auto add = [&](std::uint32_t src, std::uint32_t dst) {
      const std::uint32_t id = arc_ids_[std::size_t{src} * ranks_ + dst];
      tree.gather.push_back(arc_over(id, result_.arcs[id]));
    };
    const auto add_group = [&](std::uint32_t src) {
      for (const std::uint32_t to : *group_of_[src]) {
        if (to != src) add(src, to);
      }
    };
    add_group(root);
    for (const auto& [from, to] : entries_[root]) add(from, to);
    for (const auto& [from, to] : entries_[root]) add_group(to);
  }

  std::uint32_t ranks_;
  std::span<const std::int64_t> demand_;
  const Groups& groups_;
  SwitchRoutes routes_;
  std::vector<std::int64_t> passes_on_;  // weight that a rank tells its group
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> entries_;  // by root
  std::vector<std::uint32_t> arc_ids_;  // [src * ranks + dst]
  std::vector<const std::vector<std::uint32_t>*> group_of_;
  RoutedTrees result_;
};

/// Most links of a rank.
std::int64_t most_planes(const Topology& topology) {
  std::size_t most = 1;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    most = std::max(most, topology.out_links(topology.node_of(Rank{r})).size());
  }
  return static_cast<std::int64_t>(most);
}

std::vector<std::int64_t> multiplied(std::span<const std::int64_t> values, std::int64_t factor) {
  std::vector<std::int64_t> result(values.begin(), values.end());
  for (std::int64_t& value : result) value *= factor;
  return result;
}

/// With every arc divided evenly among the planes of a box, if each rank has a link to several: in
/// units so small that it can be.
std::optional<RoutedTrees> spread_over_planes(const Topology& topology,
                                              std::span<const std::int64_t> capacity,
                                              std::span<const std::int64_t> demand,
                                              std::span<const Groups* const> ways) {
  const std::int64_t planes = most_planes(topology);
  const std::int64_t widest = capacity.empty() ? 0 : std::ranges::max(capacity);
  if (planes < 2 || widest > std::numeric_limits<std::int64_t>::max() / planes) return std::nullopt;
  const std::vector<std::int64_t> capacities = multiplied(capacity, planes),
                                  demands = multiplied(demand, planes);
  for (const Groups* way : ways) {
    auto trees =
        ShallowForest(topology, capacities, demands, *way, RouteChoice::Widest, planes).build();
    if (trees) return trees;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RoutedTrees> shallow_trees(const Topology& topology,
                                         std::span<const std::int64_t> capacity,
                                         std::span<const std::int64_t> demand) {
  const Groups groups = groups_of(topology), singles = single_ranks(topology.num_ranks());
  // Routes of one's own first: two hops without contention are faster than one with it.
  std::vector<const Groups*> ways{&singles};
  if (groups.size() < singles.size()) ways.push_back(&groups);
  for (const RouteChoice choice : {RouteChoice::Own, RouteChoice::Widest}) {
    for (const Groups* way : ways) {
      auto trees = ShallowForest(topology, capacity, demand, *way, choice).build();
      if (trees) return trees;
    }
  }
  return spread_over_planes(topology, capacity, demand, ways);
}

}  // namespace multitree
