// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The packing program over all trees of a network, solved by generating trees that are cheap at
/// the current prices until none is cheaper than those in use.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "algorithms/certificate/packing_lp_internal.hpp"
#include "algorithms/certificate/share_trees_internal.hpp"

namespace multitree {

/// Rows are links. Where every link has a mate, a row is a link with its mate: then trees that are
/// reduced along the mates of the links that they broadcast along are enough (the average of any
/// solution and its mirror image is made of such), and they use both directions alike.
class TreeProgram {
 public:
  explicit TreeProgram(const Topology& topology);

  /// Bandwidth of each row in the greatest common unit.
  [[nodiscard]] const std::vector<std::int64_t>& bandwidths() const { return rows_.bandwidth; }
  [[nodiscard]] const std::vector<std::uint32_t>& row_of_link() const { return rows_.of_link; }

  /// The most trees that fit the capacities, rounded; stops early when they are `enough`, or
  /// provably fewer.
  static constexpr double kAll = std::numeric_limits<double>::infinity();
  double maximise(std::vector<std::int64_t> capacities, double enough = kAll);
  /// Trees met so far, and how often each is used by the last solution.
  [[nodiscard]] const std::vector<PackedTree>& trees() const { return trees_; }
  /// Of all these trees.
  [[nodiscard]] const RoutePool& routes() const { return routes_; }
  [[nodiscard]] const std::vector<RowUse>& uses(std::size_t tree) const { return uses_[tree]; }
  [[nodiscard]] std::vector<double> counts() const { return lp_.weights(); }
  /// The last solution without rounding; empty if rounding misled the solver.
  [[nodiscard]] std::optional<PackingLp::Solution> exact_counts() const {
    return lp_.exact_solution();
  }

  /// How often trees have been looked for: a measure of effort that is the same on any machine.
  [[nodiscard]] std::uint32_t rounds() const { return round_; }

  /// The most trees that fit the bandwidths, and prices that prove it, exact. Stops early where
  /// there are `enough` > 0, and where trees have been looked for limit_rounds() times; where
  /// switches add and copy, where the search for trees finds none that is cheaper.
  PackingLp::Solution solve_exactly(const Exact& enough = 0);
  void limit_rounds(std::uint32_t most) { most_rounds_ = most; }

 private:
  struct Rows {
    std::vector<std::uint32_t> of_link;
    std::vector<std::int64_t> bandwidth;
  };
  static Rows make_rows(const Topology& topology);

  /// Trees that are cheapest at `row_price`, a few different ones.
  std::vector<PackedTree> cheapest_trees(const std::vector<Price>& row_price);
  /// Adds trees that each avoid the links of those before, as long as more of them fit.
  void add_trees_apart(double enough);
  /// Adds those that cost less than 1. \returns whether there are any.
  bool add_cheaper(std::vector<PackedTree> candidates, const std::vector<double>& price);
  /// \returns whether it is new.
  bool add(PackedTree tree, std::vector<RowUse> uses);
  [[nodiscard]] std::vector<RowUse> uses_of(const PackedTree& tree) const;

  const Topology& topology_;
  Topology transposed_;
  Rows rows_;
  PackingLp lp_;
  RoutePool routes_;
  std::vector<PackedTree> trees_;
  std::vector<std::vector<RowUse>> uses_;
  std::uint32_t round_ = 0, most_rounds_ = std::numeric_limits<std::uint32_t>::max();
};

}  // namespace multitree
