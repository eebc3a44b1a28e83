// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cheapest out-trees from every root by one contraction.
#include <algorithm>
#include <numeric>
#include <queue>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/certificate/metric_trees_internal.hpp"
#include "algorithms/certificate/shortest_paths_internal.hpp"

namespace multitree {
namespace {

/// The cheapest hop between two groups of ranks.
struct Entry {
  Price cost;
  Rank src{}, dst{};
};

/// The state of a contraction: groups of ranks that are one vertex by now, each in the slot of its
/// first.
class Contractor {
 public:
  explicit Contractor(std::vector<std::vector<Price>> hop_cost)
      : n_(static_cast<std::uint32_t>(hop_cost.size())), alive_(n_, true), part_of_(n_) {
    std::iota(part_of_.begin(), part_of_.end(), 0);
    parts_.resize(n_);
    for (std::uint32_t a = 0; a < n_; ++a) {
      for (std::uint32_t b = 0; b < n_; ++b) {
        hops_.push_back({std::move(hop_cost[a][b]), Rank{a}, Rank{b}});
      }
    }
  }

  /// Walks backwards along cheapest entries; where the walk meets itself it has found a cycle.
  std::vector<Contraction::Part> run() {
    std::vector<std::uint32_t> walk{0};
    while (static_cast<std::uint32_t>(parts_.size()) < 2 * n_ && count_ + 1 < n_) {
      const std::uint32_t from = cheapest_entry(walk.back());
      const auto meeting = std::find(walk.begin(), walk.end(), from);
      if (meeting == walk.end()) {
        walk.push_back(from);
        continue;
      }
      const std::vector<std::uint32_t> cycle(meeting, walk.end());
      walk.erase(meeting, walk.end());
      walk.push_back(contract_cycle(cycle));
    }
    parts_.back().parent = static_cast<std::uint32_t>(parts_.size()) - 1;
    return std::move(parts_);
  }

 private:
  Entry& hop(std::uint32_t from, std::uint32_t to) { return hops_[std::size_t{from} * n_ + to]; }

  /// Charges a vertex for its cheapest entry. \returns where that comes from.
  std::uint32_t cheapest_entry(std::uint32_t to) {
    std::uint32_t best = n_;
    for (std::uint32_t from = 0; from < n_; ++from) {
      if (!alive_[from] || from == to) continue;
      if (best == n_ || hop(from, to).cost < hop(best, to).cost) best = from;
    }
    Contraction::Part& part = parts_[part_of_[to]];
    part.entry_cost = hop(best, to).cost;
    part.entry_src = hop(best, to).src;
    part.entry_dst = hop(best, to).dst;
    return best;
  }

  std::uint32_t contract_cycle(const std::vector<std::uint32_t>& cycle) {
    const std::uint32_t slot = cycle.front();
    const auto whole = static_cast<std::uint32_t>(parts_.size());
    Contraction::Part part;
    for (const std::uint32_t member : cycle) {
      parts_[part_of_[member]].parent = whole;
      part.children.push_back(part_of_[member]);
      for (std::uint32_t from = 0; from < n_; ++from) {
        hop(from, member).cost -= parts_[part_of_[member]].entry_cost;
      }
      if (member == slot) continue;
      alive_[member] = false;
      ++count_;
    }
    for (const std::uint32_t member : cycle) {
      for (std::uint32_t other = 0; other < n_; ++other) {
        if (!alive_[other] || other == slot) continue;
        if (hop(other, member).cost < hop(other, slot).cost) hop(other, slot) = hop(other, member);
        if (hop(member, other).cost < hop(slot, other).cost) hop(slot, other) = hop(member, other);
      }
    }
    parts_.push_back(std::move(part));
    part_of_[slot] = whole;
    return slot;
  }

  std::uint32_t n_;
  std::uint32_t count_ = 0;  ///< slots no longer in use
  std::vector<bool> alive_;
  std::vector<std::uint32_t> part_of_;  ///< by slot
  std::vector<Entry> hops_;
  std::vector<Contraction::Part> parts_;
};

/// An out-tree from r enters each part that r is not in once.
std::vector<Price> tree_costs(const std::vector<Contraction::Part>& parts, std::uint32_t ranks) {
  Price all = 0;
  for (const Contraction::Part& part : parts) all += part.entry_cost;
  std::vector<Price> costs(ranks, all);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t part = r; parts[part].parent != part; part = parts[part].parent) {
      costs[r] -= parts[part].entry_cost;
    }
  }
  return costs;
}

}  // namespace

Contraction contract(const Topology& topology, const std::vector<Price>& price) {
  Contraction result;
  std::vector<std::vector<Price>> hop_cost;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    Paths paths = cheapest_paths(topology, price, {topology.node_of(Rank{r})}, Through::Switches);
    hop_cost.emplace_back();
    for (std::uint32_t to = 0; to < topology.num_ranks(); ++to) {
      hop_cost.back().push_back(paths.distance[index(topology.node_of(Rank{to}))]);
    }
    result.arrival.push_back(std::move(paths.arrival));
  }
  result.parts = Contractor(std::move(hop_cost)).run();
  result.tree_cost = tree_costs(result.parts, topology.num_ranks());
  return result;
}

std::vector<TreeArc> cheapest_out_tree(const Topology& topology, const Contraction& contraction,
                                       Rank root, RoutePool& routes) {
  const auto& parts = contraction.parts;
  std::vector<std::vector<Rank>> children(topology.num_ranks());
  // Parts to open up from the rank at which they are entered: what that rank is not in is entered
  // by its own cheapest hop.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open{
      {index(root), static_cast<std::uint32_t>(parts.size()) - 1}};
  while (!open.empty()) {
    const auto [entered, part] = open.back();
    open.pop_back();
    for (std::uint32_t inner = entered; inner != part; inner = parts[inner].parent) {
      for (const std::uint32_t sibling : parts[parts[inner].parent].children) {
        if (sibling == inner) continue;
        children[index(parts[sibling].entry_src)].push_back(parts[sibling].entry_dst);
        open.emplace_back(index(parts[sibling].entry_dst), sibling);
      }
    }
  }
  std::vector<TreeArc> tree;
  std::vector<Rank> order{root};
  walk_breadth_first(order, [&](Rank src) {
    for (const Rank dst : children[index(src)]) {
      order.push_back(dst);
      const std::vector<LinkId> path = path_to(topology, contraction.arrival[index(src)],
                                               topology.node_of(src), topology.node_of(dst));
      tree.push_back(make_arc(src, dst, path, routes));
    }
  });
  return tree;
}

}  // namespace multitree
