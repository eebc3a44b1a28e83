// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The simplex method on a table of fractions.
#include <cstddef>
#include <optional>
#include <stdexcept>

#include "algorithms/traffic/exact_packing_internal.hpp"

namespace multitree {
namespace {

/// Rows: limits, then the objective. Columns: amounts, slacks, then the right side.
class SimplexTable {
 public:
  explicit SimplexTable(const std::vector<std::vector<std::uint64_t>>& columns)
      : amounts_(columns.size()),
        limits_(columns.front().size()),
        width_(amounts_ + limits_ + 1),
        cells_((limits_ + 1) * width_, Exact(0)),
        basic_(limits_) {
    for (std::size_t row = 0; row < limits_; ++row) {
      for (std::size_t c = 0; c < amounts_; ++c) at(row, c) = Exact(columns[c][row]);
      at(row, amounts_ + row) = 1;
      at(row, width_ - 1) = 1;
      basic_[row] = amounts_ + row;
    }
    for (std::size_t c = 0; c < amounts_; ++c) at(limits_, c) = -1;
  }

  void solve() {
    while (const auto entering = improving()) pivot(leaving(*entering), *entering);
  }

  [[nodiscard]] ExactPacking result() const {
    ExactPacking packing{std::vector<Exact>(amounts_, Exact(0)), {}};
    for (std::size_t row = 0; row < limits_; ++row) {
      if (basic_[row] < amounts_) packing.amounts[basic_[row]] = at(row, width_ - 1);
      packing.prices.push_back(at(limits_, amounts_ + row));
    }
    return packing;
  }

 private:
  Exact& at(std::size_t row, std::size_t column) { return cells_[row * width_ + column]; }
  [[nodiscard]] const Exact& at(std::size_t row, std::size_t column) const {
    return cells_[row * width_ + column];
  }

  [[nodiscard]] std::optional<std::size_t> improving() const {
    for (std::size_t c = 0; c + 1 < width_; ++c) {
      if (at(limits_, c) < 0) return c;
    }
    return {};
  }

  [[nodiscard]] std::size_t leaving(std::size_t entering) const {
    std::optional<std::size_t> best;
    Exact least = 0;
    for (std::size_t row = 0; row < limits_; ++row) {
      if (at(row, entering) <= 0) continue;
      const Exact ratio = at(row, width_ - 1) / at(row, entering);
      const bool wins = !best || ratio < least || (ratio == least && basic_[row] < basic_[*best]);
      if (!wins) continue;
      best = row;
      least = ratio;
    }
    if (!best) throw std::logic_error("a packing without limits");
    return *best;
  }

  void pivot(std::size_t row, std::size_t column) {
    const Exact by = at(row, column);
    for (std::size_t c = 0; c < width_; ++c) at(row, c) /= by;
    for (std::size_t other = 0; other <= limits_; ++other) {
      const Exact times = at(other, column);
      if (other == row || times == 0) continue;
      for (std::size_t c = 0; c < width_; ++c) {
        if (at(row, c) != 0) at(other, c) -= times * at(row, c);
      }
    }
    basic_[row] = column;
  }

  std::size_t amounts_, limits_, width_;
  std::vector<Exact> cells_;
  std::vector<std::size_t> basic_;  // of each row
};

}  // namespace

ExactPacking pack_exactly(const std::vector<std::vector<std::uint64_t>>& columns) {
  SimplexTable table(columns);
  table.solve();
  return table.result();
}

}  // namespace multitree
