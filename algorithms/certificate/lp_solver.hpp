// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A linear program in floating point: what PackingLp asks of a solver.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace multitree {

/// Maximises the sum of the columns, none negative; rows have upper limits. Columns are numbered in
/// the order in which they were added; those behind a deleted one move up.
class LpSolver {
 public:
  virtual ~LpSolver() = default;
  virtual void set_row_limit(std::size_t row, double most) = 0;
  /// `counts[i]` of row `rows[i]` for each unit of the column.
  virtual void add_column(const std::vector<int>& rows, const std::vector<double>& counts) = 0;
  virtual void delete_columns(const std::vector<int>& columns) = 0;
  /// Both from the basis that the last call ended with: of columns that may be used, or of prices
  /// that are enough.
  virtual void solve_primal() = 0;
  virtual void solve_dual() = 0;

  // Of the last solution; pointers are good until the next call of a function above.
  [[nodiscard]] virtual double objective() const = 0;
  [[nodiscard]] virtual const double* column_values() const = 0;
  [[nodiscard]] virtual const double* row_prices() const = 0;
  [[nodiscard]] virtual bool is_basic_column(std::size_t column) const = 0;
  [[nodiscard]] virtual bool is_basic_row(std::size_t row) const = 0;
};

/// Without columns, and with rows that limit nothing.
std::unique_ptr<LpSolver> make_lp_solver(std::size_t rows, double tolerance);

}  // namespace multitree
