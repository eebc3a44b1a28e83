// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Linear programs by COIN-OR CLP.
#include "algorithms/certificate/lp_solver.hpp"

#include <ClpSimplex.hpp>

namespace multitree {
namespace {

class Clp final : public LpSolver {
 public:
  Clp(std::size_t rows, double tolerance) {
    clp_.setLogLevel(0);
    clp_.setOptimizationDirection(-1);
    clp_.setPrimalTolerance(tolerance);
    clp_.setDualTolerance(tolerance);
    clp_.scaling(0);  // rows and columns are small whole numbers
    clp_.resize(static_cast<int>(rows), 0);
  }

  void set_row_limit(std::size_t row, double most) override {
    clp_.setRowBounds(static_cast<int>(row), -COIN_DBL_MAX, most);
  }
  void add_column(const std::vector<int>& rows, const std::vector<double>& counts) override {
    clp_.addColumn(static_cast<int>(rows.size()), rows.data(), counts.data(), 0.0, COIN_DBL_MAX,
                   1.0);
  }
  void delete_columns(const std::vector<int>& columns) override {
    clp_.deleteColumns(static_cast<int>(columns.size()), columns.data());
  }
  void solve_primal() override { clp_.primal(); }
  void solve_dual() override { clp_.dual(); }

  [[nodiscard]] double objective() const override { return clp_.getObjValue(); }
  [[nodiscard]] const double* column_values() const override { return clp_.getColSolution(); }
  [[nodiscard]] const double* row_prices() const override { return clp_.getRowPrice(); }
  [[nodiscard]] bool is_basic_column(std::size_t column) const override {
    return clp_.getColumnStatus(static_cast<int>(column)) == ClpSimplex::basic;
  }
  [[nodiscard]] bool is_basic_row(std::size_t row) const override {
    return clp_.getRowStatus(static_cast<int>(row)) == ClpSimplex::basic;
  }

 private:
  ClpSimplex clp_;
};

}  // namespace

std::unique_ptr<LpSolver> make_lp_solver(std::size_t rows, double tolerance) {
  return std::make_unique<Clp>(rows, tolerance);
}

}  // namespace multitree
