// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The revised simplex method (Dantzig's rule; Bland's where nothing was gained for a while, so it
/// ends), primal and dual.
#include "view/touch/dense_simplex.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace multitree::view {
namespace {

/// Pivots after which the inverse is made again, so that rounding does not add up.
constexpr std::size_t kMostPivots = 64;
/// Pivots without gain after which Bland's rule begins.
constexpr std::size_t kMostIdle = 40;
/// What is divided by.
constexpr double kLeastPivot = 1e-9;

/// target -= factor * source
void subtract(std::span<double> target, std::span<const double> source, double factor) {
  if (factor == 0) return;
  for (std::size_t i = 0; i < target.size(); ++i) target[i] -= factor * source[i];
}

}  // namespace

DenseSimplex::DenseSimplex(std::size_t rows, double tolerance)
    : tolerance_(tolerance),
      limits_(rows, 0),
      basis_(rows),
      is_basic_(rows, true),
      values_(rows, 0),
      prices_(rows, 0) {
  std::iota(basis_.begin(), basis_.end(), Variable{0});
  invert_again();
}

void DenseSimplex::add_column(const std::vector<int>& rows, const std::vector<double>& counts) {
  columns_.push_back({rows, counts});
  is_basic_.push_back(false);
  column_values_.push_back(0);
}

void DenseSimplex::delete_columns(const std::vector<int>& columns) {
  std::vector<bool> is_deleted(columns_.size(), false);
  for (const int column : columns) is_deleted[static_cast<std::size_t>(column)] = true;
  std::vector<Variable> number(rows() + columns_.size(), 0);
  std::size_t left = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (is_deleted[c]) continue;
    number[rows() + c] = rows() + left;
    is_basic_[rows() + left] = is_basic_[rows() + c];
    column_values_[left] = column_values_[c];
    if (left != c) columns_[left] = std::move(columns_[c]);
    ++left;
  }
  columns_.resize(left);
  column_values_.resize(left);
  is_basic_.resize(rows() + left);
  for (Variable& variable : basis_) {
    if (variable >= rows()) variable = number[variable];
  }
}

double DenseSimplex::times(std::span<const double> vector, Variable variable) const {
  if (variable < rows()) return vector[variable];
  const Column& column = columns_[variable - rows()];
  double sum = 0;
  for (std::size_t i = 0; i < column.rows.size(); ++i) {
    sum += vector[static_cast<std::size_t>(column.rows[i])] * column.counts[i];
  }
  return sum;
}

std::vector<double> DenseSimplex::in_basis(Variable variable) const {
  std::vector<double> column(rows());
  for (std::size_t r = 0; r < rows(); ++r) {
    column[r] = times(std::span(inverse_).subspan(r * rows(), rows()), variable);
  }
  return column;
}

void DenseSimplex::invert_again() {
  const std::size_t n = rows();
  pivots_ = 0;
  inverse_.assign(n * n, 0);
  for (std::size_t r = 0; r < n; ++r) inverse_[r * n + r] = 1;
  // Rows that stand for themselves need no work; the others are brought in, one pivot each.
  std::vector<Variable> wanted;
  std::vector<bool> is_free(n, true);
  for (const Variable variable : basis_) {
    if (variable < n) is_free[variable] = false;
    if (variable >= n) wanted.push_back(variable);
  }
  std::iota(basis_.begin(), basis_.end(), Variable{0});
  for (const Variable variable : wanted) {
    const std::vector<double> column = in_basis(variable);
    std::size_t best = n;
    for (std::size_t r = 0; r < n; ++r) {
      if (is_free[r] && (best == n || std::abs(column[r]) > std::abs(column[best]))) best = r;
    }
    if (best == n || std::abs(column[best]) < kLeastPivot) {
      throw std::logic_error("simplex method: the basis is singular");
    }
    is_free[best] = false;
    pivot(best, variable, column);
  }
  pivots_ = 0;
}

void DenseSimplex::compute_values() {
  for (std::size_t r = 0; r < rows(); ++r) {
    const auto row = inverse_row(r);
    values_[r] = std::inner_product(row.begin(), row.end(), limits_.begin(), 0.0);
  }
  std::ranges::fill(prices_, 0);
  for (std::size_t r = 0; r < rows(); ++r) subtract(prices_, inverse_row(r), -gain(basis_[r]));
}

/// `column`: of the variable, in the basis.
void DenseSimplex::pivot(std::size_t row, Variable variable, const std::vector<double>& column) {
  const auto pivot_row = inverse_row(row);
  for (double& entry : pivot_row) entry /= column[row];
  for (std::size_t r = 0; r < rows(); ++r) {
    if (r != row) subtract(inverse_row(r), pivot_row, column[r]);
  }
  is_basic_[basis_[row]] = false;
  is_basic_[variable] = true;
  basis_[row] = variable;
  ++pivots_;
}

std::optional<DenseSimplex::Variable> DenseSimplex::entering(bool first) const {
  std::optional<Variable> best;
  double most = tolerance_;
  for (Variable v = 0; v < is_basic_.size(); ++v) {
    if (is_basic_[v]) continue;
    const double improvement = gain(v) - times(prices_, v);
    if (improvement <= most) continue;
    best = v;
    if (first) break;
    most = improvement;
  }
  return best;
}

std::optional<std::size_t> DenseSimplex::leaving(const std::vector<double>& column,
                                                 bool first) const {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t r = 0; r < rows(); ++r) {
    if (column[r] <= kLeastPivot) continue;
    const double ratio = std::max(0.0, values_[r]) / column[r];
    const bool is_tie = best && std::abs(ratio - least) <= 1e-12;
    const bool is_better =
        !best ||
        (is_tie ? (first ? basis_[r] < basis_[*best] : column[r] > column[*best]) : ratio < least);
    if (!is_better) continue;
    best = r;
    least = ratio;
  }
  return best;
}

void DenseSimplex::solve_primal() {
  compute_values();
  std::size_t idle = 0;
  while (const auto variable = entering(idle > kMostIdle)) {
    const std::vector<double> column = in_basis(*variable);
    const auto row = leaving(column, idle > kMostIdle);
    if (!row) throw std::logic_error("simplex method: a column that no row limits");
    idle = values_[*row] > tolerance_ ? 0 : idle + 1;
    pivot(*row, *variable, column);
    if (pivots_ >= kMostPivots) invert_again();
    compute_values();
  }
  tell();
}

/// Of the variables that make a negative value larger, the one whose price is gone first.
std::optional<DenseSimplex::Variable> DenseSimplex::entering_dual(std::size_t row) {
  std::optional<Variable> best;
  double least = 0;
  const auto inverse = inverse_row(row);
  for (Variable v = 0; v < is_basic_.size(); ++v) {
    if (is_basic_[v]) continue;
    const double change = times(inverse, v);
    if (change >= -kLeastPivot) continue;
    const double ratio = std::max(0.0, times(prices_, v) - gain(v)) / -change;
    if (best && ratio >= least) continue;
    best = v;
    least = ratio;
  }
  return best;
}

void DenseSimplex::solve_dual() {
  compute_values();
  // Far more than are ever needed: with ties without end the primal method takes over from rows.
  for (std::size_t steps = 0; steps < 50 * (rows() + 1); ++steps) {
    const auto lowest = std::ranges::min_element(values_);
    if (lowest == values_.end() || *lowest >= -tolerance_) return solve_primal();
    const auto row = static_cast<std::size_t>(lowest - values_.begin());
    const auto variable = entering_dual(row);
    if (!variable) break;
    pivot(row, *variable, in_basis(*variable));
    if (pivots_ >= kMostPivots) invert_again();
    compute_values();
  }
  std::fill(is_basic_.begin(), is_basic_.end(), false);
  std::fill_n(is_basic_.begin(), rows(), true);
  std::iota(basis_.begin(), basis_.end(), Variable{0});
  invert_again();
  solve_primal();
}

void DenseSimplex::tell() {
  std::ranges::fill(column_values_, 0);
  for (std::size_t r = 0; r < rows(); ++r) {
    if (basis_[r] >= rows()) column_values_[basis_[r] - rows()] = values_[r];
  }
}

double DenseSimplex::objective() const {
  return std::accumulate(column_values_.begin(), column_values_.end(), 0.0);
}

bool DenseSimplex::is_basic_column(std::size_t column) const { return is_basic_[rows() + column]; }

bool DenseSimplex::is_basic_row(std::size_t row) const { return is_basic_[row]; }

}  // namespace multitree::view
