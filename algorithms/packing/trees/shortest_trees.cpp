// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees of shortest paths, as many as capacities allow.
///
/// If every rank gets every root's data from a rank nearer to that root, it does not matter from
/// which: what the others choose does not change who has the data in time. So each rank solves a
/// transportation problem of its own: the trees' weights, over the arcs into it that come from
/// nearer the root, within the capacities. On tori, meshes, hypercubes and networks of full
/// bandwidth all of these can be solved as a rule, and nothing is left for Edmonds' theorem.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/packing/capacities/sink_flows_internal.hpp"
#include "algorithms/packing/trees/arborescences_internal.hpp"

namespace multitree {
namespace {

/// Which part of a root's weight, from `begin` on, reaches a rank over which arc.
struct Supply {
  std::uint32_t arc = 0;
  std::int64_t begin = 0, end = 0;
};

class ShortestTrees {
 public:
  ShortestTrees(std::uint32_t ranks, std::span<const RankArc> arcs,
                std::span<const std::int64_t> demand)
      : ranks_(ranks), arcs_(arcs), demand_(demand), network_(ranks), late_(ranks, false) {
    for (const RankArc& arc : arcs) network_.add_arc(index(arc.src), index(arc.dst), arc.capacity);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      if (demand[r] > 0) roots_.push_back(r);
    }
    supplies_.resize(roots_.size());
    for (std::uint32_t i = 0; i < roots_.size(); ++i) {
      distances_.push_back(distances_from(roots_[i]));
      supplies_[i].resize(ranks);
    }
  }

  std::vector<PackedTree> trees() {
    std::vector<std::uint32_t> failed;
    for (std::uint32_t v = 0; v < ranks_; ++v) {
      if (!supply(v)) failed.push_back(v);
    }
    // These may also get data from ranks as far from the root as they are; such ranks not, so that
    // there are no cycles.
    for (const std::uint32_t v : failed) late_[v] = true;
    for (const std::uint32_t v : failed) supply(v);
    std::vector<PackedTree> trees;
    for (std::uint32_t i = 0; i < roots_.size(); ++i) assemble(i, trees);
    return trees;
  }

 private:
  std::vector<std::uint32_t> distances_from(std::uint32_t root) const {
    return hops_from(ranks_, root, [&](std::uint32_t from, const auto& meet) {
      for (const std::uint32_t a : network_.out(from)) {
        if (arcs_[a].capacity > 0) meet(index(arcs_[a].dst));
      }
    });
  }

  /// Positions in network_.in(v) of the arcs over which v may get the data of a root.
  std::vector<std::uint32_t> options(std::uint32_t v, const std::vector<std::uint32_t>& distance) {
    std::vector<std::uint32_t> nearer;
    for (std::uint32_t j = 0; j < network_.in(v).size(); ++j) {
      const std::uint32_t from = index(arcs_[network_.in(v)[j]].src);
      const bool beside = late_[v] && !late_[from] && distance[from] == distance[v];
      if (distance[from] < distance[v] || beside) nearer.push_back(j);
    }
    return nearer;
  }

  /// Shares the arcs into v among the roots; roots with the same options are one. False if some
  /// data find no arc.
  bool supply(std::uint32_t v) {
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> alike;
    for (std::uint32_t i = 0; i < roots_.size(); ++i) {
      if (roots_[i] != v) alike[options(v, distances_[i])].push_back(i);
    }
    const auto arcs = static_cast<std::uint32_t>(network_.in(v).size()), sink = arcs;
    FlowNetwork network(arcs + 1);
    std::vector<std::int64_t> supplies(arcs + 1, 0);
    for (std::uint32_t j = 0; j < arcs; ++j) {
      network.add_arc(j, sink, arcs_[network_.in(v)[j]].capacity);
    }
    for (const auto& [nearer, roots] : alike) {
      std::int64_t weight = 0;
      for (const std::uint32_t i : roots) weight += demand_[roots_[i]];
      const std::uint32_t node = network.add_node();
      for (const std::uint32_t j : nearer) network.add_arc(node, j, weight);
      supplies.push_back(weight);
    }
    SinkFlows flows(network, sink + 1);
    const bool complete = flows.shortfall(sink, supplies) == 0;
    std::uint32_t next = arcs;  // arcs of the network in the order in which they were added
    for (const auto& [nearer, roots] : alike) {
      std::vector<std::int64_t> amounts;
      for (std::size_t n = 0; n < nearer.size(); ++n)
        amounts.push_back(flows.kept_flow(sink, next++));
      share_out(v, nearer, amounts, roots);
    }
    return complete;
  }

  /// Gives roots arc after arc; where that is not enough, the last ones' last parts get none.
  void share_out(std::uint32_t v, const std::vector<std::uint32_t>& nearer,
                 std::vector<std::int64_t>& amounts, const std::vector<std::uint32_t>& roots) {
    std::size_t n = 0;
    for (const std::uint32_t i : roots) {
      std::vector<Supply>& parts = supplies_[i][v];
      parts.clear();
      std::int64_t begin = 0;
      const std::int64_t all = demand_[roots_[i]];
      while (begin < all && n < nearer.size()) {
        const std::int64_t amount = std::min(all - begin, amounts[n]);
        if (amount > 0) parts.push_back({network_.in(v)[nearer[n]], begin, begin + amount});
        begin += amount;
        amounts[n] -= amount;
        if (amounts[n] == 0) ++n;
      }
    }
  }

  /// The trees of a root: where any rank's supply changes from one arc to another, a new one.
  void assemble(std::uint32_t i, std::vector<PackedTree>& trees) const {
    const std::uint32_t root = roots_[i];
    std::int64_t complete = demand_[root];
    std::vector<std::int64_t> changes{0};
    std::vector<std::uint32_t> order;
    for (std::uint32_t v = 0; v < ranks_; ++v) {
      if (v == root) continue;
      order.push_back(v);
      for (const Supply& part : supplies_[i][v]) changes.push_back(part.begin);
      complete = std::min(complete, supplies_[i][v].empty() ? 0 : supplies_[i][v].back().end);
    }
    std::ranges::sort(order, {}, [&](std::uint32_t v) {
      return std::tuple(distances_[i][v], static_cast<bool>(late_[v]), v);
    });
    std::ranges::sort(changes);
    changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
    std::vector<std::size_t> part(ranks_, 0);
    for (std::size_t c = 0; c < changes.size() && changes[c] < complete; ++c) {
      const std::int64_t end =
          c + 1 < changes.size() ? std::min(changes[c + 1], complete) : complete;
      PackedTree& tree = trees.emplace_back();
      tree.root = Rank{root};
      tree.weight = static_cast<std::uint64_t>(end - changes[c]);
      for (const std::uint32_t v : order) {
        while (supplies_[i][v][part[v]].end <= changes[c]) ++part[v];
        const std::uint32_t arc = supplies_[i][v][part[v]].arc;
        tree.gather.push_back(arc_over(arc, arcs_[arc]));
      }
    }
  }

  std::uint32_t ranks_;
  std::span<const RankArc> arcs_;
  std::span<const std::int64_t> demand_;
  FlowNetwork network_;     // of the arcs
  std::vector<bool> late_;  // ranks that may be served by ranks as far from the root as they are
  std::vector<std::uint32_t> roots_;
  std::vector<std::vector<std::uint32_t>> distances_;       // [root][rank]
  std::vector<std::vector<std::vector<Supply>>> supplies_;  // [root][rank]
};

}  // namespace

std::vector<PackedTree> shortest_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                       std::span<const std::int64_t> demand) {
  return ShortestTrees(ranks, arcs, demand).trees();
}

}  // namespace multitree
