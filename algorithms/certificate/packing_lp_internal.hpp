// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The packing linear program whose columns are trees: floating point finds the basis, exact
/// arithmetic the solution.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/certificate/lp_solver.hpp"

namespace multitree {

/// What a tree of weight 1 uses of a row (a link, or a link and its mate).
struct RowUse {
  std::uint32_t row = 0;
  std::int32_t count = 1;
};

/// Maximise the sum of the columns' weights, none negative; no row is used beyond its capacity.
class PackingLp {
 public:
  /// \pre 0 <= capacity < 2^62.
  explicit PackingLp(std::vector<std::int64_t> capacities);
  ~PackingLp();
  PackingLp(const PackingLp&) = delete;
  PackingLp& operator=(const PackingLp&) = delete;

  /// `uses`: ascending rows, none twice.
  void add_column(const std::vector<RowUse>& uses);
  /// Columns that drop_columns() dropped have weight 0 until they are added again.
  [[nodiscard]] bool is_dropped(std::size_t column) const { return dropped_[column]; }
  void add_again(std::size_t column);
  /// Drops the columns that are farthest from improving the last solution and have no part in it,
  /// so that about `most` are left.
  void drop_columns(std::size_t most);
  /// Not negative.
  void set_capacities(std::vector<std::int64_t> capacities);
  [[nodiscard]] const std::vector<std::int64_t>& capacities() const { return capacities_; }
  /// From the basis that the last call ended with.
  void solve();

  // What follows is rounded, within about kTolerance.
  static constexpr double kTolerance = 1e-9;
  [[nodiscard]] double objective() const;
  [[nodiscard]] std::vector<double> weights() const;
  /// Price of a unit of each row: a column whose rows cost less than 1 would improve the solution.
  [[nodiscard]] std::vector<double> prices() const;

  struct Solution {
    std::vector<Exact> weights;  ///< by column
    std::vector<Exact> prices;   ///< by row; every column used costs 1 exactly
  };
  /// The basic solution of the last solve() without rounding; empty if rounding misled the solver:
  /// a weight, a price or what is left of a row is negative.
  [[nodiscard]] std::optional<Solution> exact_solution() const;

 private:
  void load_capacities();
  void load_column(std::size_t column);
  [[nodiscard]] bool is_feasible(const Solution& solution) const;

  std::vector<std::int64_t> capacities_;
  std::vector<std::vector<RowUse>> columns_;
  std::vector<bool> dropped_;        // by column
  std::vector<std::size_t> loaded_;  // columns, as the solver numbers them
  std::unique_ptr<LpSolver> solver_;
  double widest_ = 1;  // the largest capacity, which the solver takes as 1
};

}  // namespace multitree
