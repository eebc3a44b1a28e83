// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Edmonds' theorem as an algorithm: arcs join a tree as long as every cut keeps room for the trees
/// that still have to cross it (Lovász; many roots: Bérczi and Frank). Trees grow in batches that
/// are alike so far.
///
/// State: what is left of the capacities, and classes of trees that are alike so far: root, ranks
/// reached, weight. It can be completed if and only if for every set X of ranks
///     slack(X) = capacity left into X - weight of the classes without a rank in X >= 0.
/// An arc (x, y) that joins a class costs the sets with y, without x, and with a rank of the class.
/// Slack never grows, so a set without slack stays so: such sets are remembered.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/packing/capacities/sink_flows_internal.hpp"
#include "algorithms/packing/trees/arborescences_internal.hpp"

namespace multitree {
namespace {

using Bits = std::vector<std::uint64_t>;

bool get(const Bits& bits, std::uint32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
void set(Bits& bits, std::uint32_t i) { bits[i / 64] |= std::uint64_t{1} << (i % 64); }

bool meet(const Bits& a, const Bits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if ((a[i] & b[i]) != 0) return true;
  }
  return false;
}

/// Trees of one root that are alike so far.
struct TreeClass {
  Rank root{};
  std::int64_t weight = 0;  // > 0
  std::vector<TreeArc> arcs;
  Bits reached;
  std::vector<std::uint32_t> order;  // of reaching
};

class TreeGrower {
 public:
  TreeGrower(std::uint32_t ranks, std::span<const RankArc> arcs,
             std::span<const std::int64_t> demand)
      : ranks_(ranks),
        network_(ranks),
        flows_(network_, ranks),
        supply_(demand.begin(), demand.end()),
        tight_sets_(ranks) {
    for (const RankArc& arc : arcs) network_.add_arc(index(arc.src), index(arc.dst), arc.capacity);
  }

  std::vector<PackedTree> grow_all() {
    for (std::uint32_t sink = 0; sink < ranks_; ++sink) {
      if (flows_.shortfall(sink, supply_) > 0) fail();
    }
    const auto roots = std::ranges::count_if(supply_, [](std::int64_t s) { return s > 0; });
    for (std::uint32_t root = 0; root < ranks_; ++root) {
      if (supply_[root] == 0) continue;
      if (roots == 1) {
        grow_together(root);
      } else {
        grow_root(root);
      }
    }
    return std::move(done_);
  }

 private:
  [[noreturn]] static void fail() {
    throw std::logic_error("pack_arborescences: a cut is smaller than the demand across it");
  }

  void grow_root(std::uint32_t root) {
    TreeClass start{Rank{root}, supply_[root], {}, Bits((ranks_ + 63) / 64, 0), {root}};
    set(start.reached, root);
    supply_[root] = 0;
    grow(std::move(start));
    while (!waiting_.empty()) {
      TreeClass next = std::move(waiting_.back());
      waiting_.pop_back();
      network_.pop_node();
      supply_.pop_back();
      grow(std::move(next));
    }
  }

  /// A class while others grow, too: a source of its own.
  struct Growing {
    TreeClass trees;
    std::vector<std::uint32_t> depths;  // of trees.order
    std::uint32_t node = 0;
    std::size_t next = 0;  // of trees.order, whose arcs were not tried yet
  };

  /// All trees of the only root at once, ranks that are near to it first: the last trees are as
  /// shallow as the first, which would leave them the detours otherwise. It takes more sources.
  void grow_together(std::uint32_t root) {
    Growing start{{Rank{root}, supply_[root], {}, Bits((ranks_ + 63) / 64, 0), {root}}, {0}};
    set(start.trees.reached, root);
    supply_[root] = 0;
    growing_.push_back(std::move(start));
    add_source(growing_.back());
    while (const auto g = shallowest()) extend(*g);
    for (Growing& grown : growing_) finish(std::move(grown.trees));
  }

  void add_source(Growing& growing) {
    growing.node = network_.add_node();
    for (const std::uint32_t r : growing.trees.order) {
      network_.add_arc(growing.node, r, growing.trees.weight);
    }
    supply_.push_back(growing.trees.weight);
  }

  /// Of the classes that can still grow, the one whose next rank is nearest to the root.
  [[nodiscard]] std::optional<std::size_t> shallowest() const {
    std::optional<std::size_t> found;
    const auto depth = [&](std::size_t g) { return growing_[g].depths[growing_[g].next]; };
    for (std::size_t g = 0; g < growing_.size(); ++g) {
      if (growing_[g].next == growing_[g].trees.order.size()) continue;
      if (!found || depth(g) < depth(*found)) found = g;
    }
    return found;
  }

  /// Adds the arcs from one rank to a class. As in grow(), a part of it may stay behind.
  void extend(std::size_t g) {
    const std::uint32_t from = growing_[g].trees.order[growing_[g].next];
    const std::uint32_t depth = growing_[g].depths[growing_[g].next] + 1;
    supply_[growing_[g].node] = 0;
    for (const std::uint32_t id : network_.out(from)) {
      const std::uint32_t to = network_.arc(id).head;
      if (get(growing_[g].trees.reached, to)) continue;
      const std::int64_t amount = take(id, growing_[g].trees);
      if (amount == 0) continue;
      if (amount < growing_[g].trees.weight) {
        Growing rest = growing_[g];
        rest.trees.weight -= amount;
        add_source(rest);
        growing_.push_back(std::move(rest));
      }
      Growing& current = growing_[g];
      current.trees.weight = amount;
      current.trees.arcs.push_back({Rank{from}, Rank{to}, id, 1});
      current.trees.order.push_back(to);
      current.depths.push_back(depth);
      set(current.trees.reached, to);
      network_.add_arc(current.node, to, amount);
    }
    supply_[growing_[g].node] = growing_[g].trees.weight;
    ++growing_[g].next;
  }

  void finish(TreeClass grown) {
    if (grown.order.size() != ranks_) fail();
    done_.push_back({.root = grown.root,
                     .weight = static_cast<std::uint64_t>(grown.weight),
                     .gather = std::move(grown.arcs),
                     .reduce = {}});
  }

  /// Adds arcs, from the root outwards, until the class spans all ranks. Where an arc has room for
  /// part of the class only, the other part waits.
  void grow(TreeClass current) {
    walk_breadth_first(current.order, [&](std::uint32_t from) {
      for (const std::uint32_t id : network_.out(from)) {
        const std::uint32_t to = network_.arc(id).head;
        if (get(current.reached, to)) continue;
        const std::int64_t amount = take(id, current);
        if (amount == 0) continue;
        if (amount < current.weight) set_aside(current, current.weight - amount);
        current.weight = amount;
        current.arcs.push_back({Rank{from}, Rank{to}, id, 1});
        current.order.push_back(to);
        set(current.reached, to);
      }
    });
    finish(std::move(current));
  }

  /// How much of the class can take the arc now; that much of its capacity is gone then.
  std::int64_t take(std::uint32_t id, const TreeClass& current) {
    const FlowNetwork::Arc arc = network_.arc(id);
    std::int64_t amount = std::min(arc.capacity, current.weight);
    if (amount == 0 || is_tight(arc, current.reached)) return 0;
    network_.set_capacity(id, arc.capacity - amount);
    const std::int64_t excess = flows_.shortfall(arc.head, supply_);
    if (excess == 0) return amount;
    if (excess > amount) fail();
    remember_tight_set();
    network_.set_capacity(id, arc.capacity - amount + excess);
    return amount - excess;
  }

  bool is_tight(const FlowNetwork::Arc& arc, const Bits& reached) const {
    return std::ranges::any_of(tight_sets_[arc.head], [&](std::uint32_t i) {
      const Bits& set = sets_[i];
      return get(set, arc.head) && !get(set, arc.tail) && meet(set, reached);
    });
  }

  /// The set behind the last shortfall.
  void remember_tight_set() {
    Bits tight((ranks_ + 63) / 64, 0);
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (flows_.on_sink_side(r)) set(tight, r);
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (get(tight, r)) tight_sets_[r].push_back(static_cast<std::uint32_t>(sets_.size()));
    }
    sets_.push_back(std::move(tight));
  }

  /// Keeps `weight` trees of the class as they are for later, a source of their own until then.
  void set_aside(const TreeClass& current, std::int64_t weight) {
    TreeClass rest = current;
    rest.weight = weight;
    const std::uint32_t node = network_.add_node();
    for (const std::uint32_t r : rest.order) network_.add_arc(node, r, weight);
    supply_.push_back(weight);
    waiting_.push_back(std::move(rest));
  }

  std::uint32_t ranks_;
  FlowNetwork network_;  // ranks, then a source for every class that waits
  SinkFlows flows_;
  std::vector<std::int64_t> supply_;
  std::vector<TreeClass> waiting_;
  std::vector<Growing> growing_;
  std::vector<Bits> sets_;                              // without slack
  std::vector<std::vector<std::uint32_t>> tight_sets_;  // by rank in them
  std::vector<PackedTree> done_;
};

}  // namespace

std::vector<PackedTree> grow_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                   std::span<const std::int64_t> demand) {
  return TreeGrower(ranks, arcs, demand).grow_all();
}

}  // namespace multitree
