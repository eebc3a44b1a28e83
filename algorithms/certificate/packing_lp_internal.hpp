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
  struct Solver;
  void load_capacities();
  [[nodiscard]] bool is_feasible(const Solution& solution) const;

  std::vector<std::int64_t> capacities_;
  std::vector<std::vector<RowUse>> columns_;
  std::unique_ptr<Solver> solver_;
};

}  // namespace multitree
