// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MULTITREE's trees as they grow, step by step (multitree.cpp says how and by whom).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Which trees take their turn first in a step.
enum class GrowthOrder : std::uint8_t { Ascending, SmallestFirst };

struct GrowthRules {
  GrowthOrder order = GrowthOrder::SmallestFirst;
  /// 0, or the number of another way to decide where the paper leaves it open.
  std::uint32_t trial = 0;
  /// Every route has that many links; 0: the fewest that reach a rank.
  std::uint32_t length = 0;
};

/// Grows one tree per chunk of a schedule.
class Growth {
 public:
  /// `trial`: 0, or the number of another way to decide where the paper leaves it open.
  Growth(Schedule header, const Topology& topology, const GrowthRules& rules);

  /// Until all trees span all ranks, in at most `most_steps`; nothing where they can't.
  std::optional<Schedule> run_within(std::uint32_t most_steps) &&;
  /// Throws Error(Unsupported) naming the ranks that a tree cannot reach.
  Schedule run() &&;

 private:
  /// A link as the search sees it. `rank` is kSwitch if it ends at a switch.
  struct Arc {
    std::uint32_t link, node, rank;
  };
  /// Members of earlier steps are parents[0 .. limit), in the order they joined; those before
  /// `cursor` cannot become a parent in this step any more, by a route of at most `reach` links.
  struct Tree {
    std::vector<std::uint32_t> parents;
    std::size_t cursor = 0, kept = 0, limit = 0;
    std::uint32_t reach = 1;
    bool cut_short = false;  // a search stopped at `reach`
    std::uint32_t joined = 1;
  };
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kSwitch = kNone;

  void shuffle(std::uint32_t trial);
  bool grow(std::uint32_t most_steps);
  void begin_step();
  void end_step();
  void grow_step();
  bool take_turn(std::uint32_t tree);
  static void close_gap(Tree& t);
  [[nodiscard]] bool widen(Tree& t) const;
  bool find_route(std::uint32_t tree, std::uint32_t parent);
  bool search_switches(std::uint32_t tree, std::uint32_t parent);
  void trace_back(std::uint32_t start, LinkId last);
  void join(std::uint32_t tree, std::uint32_t parent);
  [[nodiscard]] bool is_exhausted(std::uint32_t tree, std::uint32_t parent) const;
  [[noreturn]] void fail() const;

  [[nodiscard]] std::span<const Arc> arcs(std::uint32_t node) const {
    return std::span(arcs_).subspan(arc_begin_[node], arc_begin_[node + 1] - arc_begin_[node]);
  }
  [[nodiscard]] std::span<const Arc> arcs_of_rank(std::uint32_t rank) const {
    return arcs(index(topology_.node_of(Rank{rank})));
  }
  [[nodiscard]] bool is_member(std::uint32_t tree, std::uint32_t rank) const {
    return ((members_[tree * words_ + rank / 64] >> (rank % 64)) & 1U) != 0;
  }
  void set_member(std::uint32_t tree, std::uint32_t rank) {
    members_[tree * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
  }

  const Topology& topology_;
  GrowthRules rules_;
  std::vector<std::uint32_t> turns_;  // trees, in the order in which equal ones take their turns
  Schedule schedule_;
  std::uint32_t ranks_;
  std::vector<std::uint32_t> arc_begin_;
  std::vector<Arc> arcs_;
  std::vector<Tree> trees_;
  std::vector<std::uint64_t> members_;  // a bit for each tree and rank
  std::size_t words_;
  std::vector<std::uint32_t> waiting_;  // trees that may still grow in this step, in turn order
  std::uint32_t step_ = 0;
  // The link budget of the step: slots left on each link, on all links out of each rank, and on all
  // links out of and into ranks. Without one of the last two no tree can grow.
  std::vector<std::uint32_t> budget_, full_budget_, rank_budget_, full_rank_budget_;
  std::uint64_t leaving_ = 0, entering_ = 0, full_leaving_ = 0, full_entering_ = 0;
  std::vector<LinkId> route_;  // found by find_route(), ending at rank found_
  std::uint32_t found_ = 0;
  BreadthFirst search_;                    // through switches
  std::vector<std::uint32_t> reached_by_;  // by node: the link by which it was met
};

}  // namespace multitree
