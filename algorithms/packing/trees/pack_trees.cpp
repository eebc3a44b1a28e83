// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Short trees first. Where they leave a cut with less capacity than the trees still to come need,
/// those that cross it more often than they must are given up; the rest is grown exactly.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "algorithms/packing/capacities/sink_flows_internal.hpp"
#include "algorithms/packing/trees/arborescences_internal.hpp"

namespace multitree {
namespace {

class Completion {
 public:
  Completion(std::uint32_t ranks, std::span<const RankArc> arcs,
             std::span<const std::int64_t> demand, std::vector<PackedTree> trees)
      : ranks_(ranks),
        arcs_(arcs.begin(), arcs.end()),
        left_(demand.begin(), demand.end()),
        trees_(std::move(trees)),
        network_(ranks),
        flows_(network_, ranks) {
    for (const PackedTree& tree : trees_) account(tree, 1);
    for (const RankArc& arc : arcs_) {
      network_.add_arc(index(arc.src), index(arc.dst), arc.capacity);
    }
  }

  std::vector<PackedTree> run() && {
    std::size_t at_least = 1;
    for (std::uint32_t sink = 0; sink < ranks_; ++sink) {
      while (is_short(sink) && give_up(at_least)) at_least *= 2;
    }
    if (std::ranges::any_of(left_, [](std::int64_t weight) { return weight > 0; })) {
      std::vector<PackedTree> grown = grow_trees(ranks_, arcs_, left_);
      trees_.insert(trees_.end(), std::make_move_iterator(grown.begin()),
                    std::make_move_iterator(grown.end()));
    }
    return std::move(trees_);
  }

 private:
  /// Takes the tree from what is left (sign 1), or puts it back (-1).
  void account(const PackedTree& tree, std::int64_t sign) {
    left_[index(tree.root)] -= sign * weight_of(tree);
    for (const TreeArc& arc : tree.gather) arcs_[rank_arc(arc)].capacity -= sign * weight_of(tree);
  }

  bool is_short(std::uint32_t sink) { return flows_.shortfall(sink, left_) > 0; }

  /// How often a tree enters the sink's side of the last cut without need.
  std::int64_t waste(const PackedTree& tree) const {
    std::int64_t entries = flows_.on_sink_side(index(tree.root)) ? 0 : -1;
    for (const TreeArc& arc : tree.gather) {
      entries += flows_.on_sink_side(index(arc.dst)) && !flows_.on_sink_side(index(arc.src));
    }
    return entries;
  }

  /// Gives up enough trees for the last cut, and no fewer than `at_least` that waste some of it.
  /// False if none does.
  bool give_up(std::size_t at_least) {
    std::int64_t missing = 0;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (!flows_.on_sink_side(r)) missing += left_[r];
    }
    for (const RankArc& arc : arcs_) {
      if (flows_.on_sink_side(index(arc.dst)) && !flows_.on_sink_side(index(arc.src))) {
        missing -= arc.capacity;
      }
    }
    std::vector<std::pair<std::int64_t, std::size_t>> wasteful;  // most wasteful first
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      const std::int64_t wasted = waste(trees_[t]);
      if (wasted > 0) wasteful.emplace_back(-wasted, t);
    }
    std::ranges::sort(wasteful);
    std::vector<bool> gone(trees_.size(), false);
    for (std::size_t i = 0; i < wasteful.size() && (missing > 0 || i < at_least); ++i) {
      const auto [wasted, t] = wasteful[i];
      missing += wasted * weight_of(trees_[t]);
      account(trees_[t], -1);
      gone[t] = true;
    }
    std::vector<PackedTree> kept;
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      if (!gone[t]) kept.push_back(std::move(trees_[t]));
    }
    trees_ = std::move(kept);
    for (std::uint32_t a = 0; a < arcs_.size(); ++a) network_.set_capacity(a, arcs_[a].capacity);
    return !wasteful.empty();
  }

  std::uint32_t ranks_;
  std::vector<RankArc> arcs_;       // with the capacity that is left
  std::vector<std::int64_t> left_;  // demands without the trees'
  std::vector<PackedTree> trees_;
  FlowNetwork network_;
  SinkFlows flows_;
};

}  // namespace

std::vector<PackedTree> pack_trees(std::uint32_t ranks, std::span<const RankArc> arcs,
                                   std::span<const std::int64_t> demand) {
  return Completion(ranks, arcs, demand, shortest_trees(ranks, arcs, demand)).run();
}

}  // namespace multitree
