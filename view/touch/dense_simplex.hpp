// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Linear programs where no solver can be linked: a revised simplex method with the inverse of its
/// basis written out. For some hundred rows; what it finds is proven in exact arithmetic by whoever
/// asked (PackingLp).
#pragma once

#include <optional>
#include <span>

#include "algorithms/certificate/lp_solver.hpp"

namespace multitree::view {

/// A pivot takes O(rows^2 + nonzeros). The same calls give the same answers.
class DenseSimplex final : public LpSolver {
 public:
  DenseSimplex(std::size_t rows, double tolerance);

  void set_row_limit(std::size_t row, double most) override { limits_[row] = most; }
  void add_column(const std::vector<int>& rows, const std::vector<double>& counts) override;
  void delete_columns(const std::vector<int>& columns) override;
  void solve_primal() override;
  void solve_dual() override;

  [[nodiscard]] double objective() const override;
  [[nodiscard]] const double* column_values() const override { return column_values_.data(); }
  [[nodiscard]] const double* row_prices() const override { return prices_.data(); }
  [[nodiscard]] bool is_basic_column(std::size_t column) const override;
  [[nodiscard]] bool is_basic_row(std::size_t row) const override;

 private:
  struct Column {
    std::vector<int> rows;
    std::vector<double> counts;
  };
  /// Numbers of variables: what is left of row r is r, column c is rows + c.
  using Variable = std::size_t;

  [[nodiscard]] std::size_t rows() const { return limits_.size(); }
  [[nodiscard]] double gain(Variable variable) const { return variable < rows() ? 0 : 1; }
  /// The product of a row vector and the variable's column.
  [[nodiscard]] double times(std::span<const double> vector, Variable variable) const;
  [[nodiscard]] std::vector<double> in_basis(Variable variable) const;
  [[nodiscard]] std::span<double> inverse_row(std::size_t row) {
    return std::span(inverse_).subspan(row * rows(), rows());
  }
  [[nodiscard]] std::optional<Variable> entering(bool first) const;
  [[nodiscard]] std::optional<std::size_t> leaving(const std::vector<double>& column,
                                                   bool first) const;
  [[nodiscard]] std::optional<Variable> entering_dual(std::size_t row);
  void pivot(std::size_t row, Variable variable, const std::vector<double>& column);
  void invert_again();
  void compute_values();
  void tell();

  double tolerance_;
  std::vector<double> limits_;
  std::vector<Column> columns_;
  std::vector<Variable> basis_;        // by row of the inverse
  std::vector<bool> is_basic_;         // by variable
  std::vector<double> inverse_;        // of the basis, row after row
  std::vector<double> values_;         // of the basis
  std::vector<double> prices_;         // by row
  std::vector<double> column_values_;  // by column
  std::size_t pivots_ = 0;             // since the inverse was made
};

}  // namespace multitree::view
