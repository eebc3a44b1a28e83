// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The packing linear program by a solver in floating point, and its basic solution in exact
/// arithmetic.
#include "algorithms/certificate/packing_lp_internal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "algorithms/certificate/exact_linear_internal.hpp"

namespace multitree {

PackingLp::PackingLp(std::vector<std::int64_t> capacities)
    : capacities_(std::move(capacities)), solver_(make_lp_solver(capacities_.size(), kTolerance)) {
  load_capacities();
}

void PackingLp::set_capacities(std::vector<std::int64_t> capacities) {
  capacities_ = std::move(capacities);
  load_capacities();
  solver_->solve_dual();  // the prices stay feasible
}

void PackingLp::load_capacities() {
  const std::int64_t widest = *std::max_element(capacities_.begin(), capacities_.end());
  widest_ = static_cast<double>(std::max<std::int64_t>(1, widest));
  for (std::size_t row = 0; row < capacities_.size(); ++row) {
    solver_->set_row_limit(row, static_cast<double>(capacities_[row]) / widest_);
  }
}

PackingLp::~PackingLp() = default;

void PackingLp::add_column(const std::vector<RowUse>& uses) {
  columns_.push_back(uses);
  dropped_.push_back(false);
  load_column(columns_.size() - 1);
}

void PackingLp::add_again(std::size_t column) {
  dropped_[column] = false;
  load_column(column);
}

void PackingLp::load_column(std::size_t column) {
  std::vector<int> rows;
  std::vector<double> counts;
  for (const RowUse& use : columns_[column]) {
    rows.push_back(static_cast<int>(use.row));
    counts.push_back(use.count);
  }
  solver_->add_column(rows, counts);
  loaded_.push_back(column);
}

void PackingLp::drop_columns(std::size_t most) {
  if (loaded_.size() <= most) return;
  const std::vector<double> price = prices();
  std::vector<std::pair<double, int>> idle;  // cost, number
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    if (solver_->is_basic_column(i)) continue;
    double cost = 0;
    for (const RowUse& use : columns_[loaded_[i]]) cost += price[use.row] * use.count;
    idle.emplace_back(cost, static_cast<int>(i));
  }
  std::sort(idle.begin(), idle.end());
  const std::size_t basic = loaded_.size() - idle.size();
  idle.erase(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(
                                              std::min(idle.size(), most - std::min(most, basic))));
  std::vector<int> numbers;
  for (const auto& [cost, number] : idle) {
    numbers.push_back(number);
    dropped_[loaded_[static_cast<std::size_t>(number)]] = true;
  }
  solver_->delete_columns(numbers);
  std::erase_if(loaded_, [&](std::size_t column) { return dropped_[column]; });
}

void PackingLp::solve() { solver_->solve_primal(); }

double PackingLp::objective() const { return solver_->objective() * widest_; }

std::vector<double> PackingLp::weights() const {
  const double* weights = solver_->column_values();
  std::vector<double> result(columns_.size(), 0);
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    result[loaded_[i]] = std::max(0.0, weights[i]) * widest_;
  }
  return result;
}

std::vector<double> PackingLp::prices() const {
  const double* prices = solver_->row_prices();
  std::vector<double> result(prices, prices + capacities_.size());
  for (double& price : result) price = std::abs(price);
  return result;
}

std::optional<PackingLp::Solution> PackingLp::exact_solution() const {
  std::vector<std::size_t> used, tight;
  std::vector<std::size_t> place(capacities_.size(), capacities_.size());
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    if (solver_->is_basic_column(i)) used.push_back(loaded_[i]);
  }
  for (std::size_t row = 0; row < capacities_.size(); ++row) {
    if (solver_->is_basic_row(row)) continue;
    place[row] = tight.size();
    tight.push_back(row);
  }
  if (used.size() != tight.size()) return std::nullopt;
  IntegerMatrix basis(used.size());
  for (std::size_t j = 0; j < used.size(); ++j) {
    for (const RowUse& use : columns_[used[j]]) {
      if (place[use.row] != capacities_.size()) basis.at(place[use.row], j) = use.count;
    }
  }
  std::vector<std::int64_t> right;
  for (const std::size_t row : tight) right.push_back(capacities_[row]);
  const auto weights = solve_exactly(basis, right);
  const auto prices = solve_exactly(basis.transposed(), std::vector<std::int64_t>(used.size(), 1));
  if (!weights || !prices) return std::nullopt;
  Solution solution{std::vector<Exact>(columns_.size(), 0),
                    std::vector<Exact>(capacities_.size(), 0)};
  for (std::size_t j = 0; j < used.size(); ++j) solution.weights[used[j]] = (*weights)[j];
  for (std::size_t i = 0; i < tight.size(); ++i) solution.prices[tight[i]] = (*prices)[i];
  if (!is_feasible(solution)) return std::nullopt;
  return solution;
}

bool PackingLp::is_feasible(const Solution& solution) const {
  std::vector<Exact> left(capacities_.begin(), capacities_.end());
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const Exact& weight = solution.weights[column];
    if (weight < 0) return false;
    if (weight == 0) continue;
    for (const RowUse& use : columns_[column]) left[use.row] -= weight * use.count;
  }
  const auto negative = [](const Exact& value) { return value < 0; };
  return std::none_of(left.begin(), left.end(), negative) &&
         std::none_of(solution.prices.begin(), solution.prices.end(), negative);
}

}  // namespace multitree
