// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Linear equations solved without rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/certificate/certificate.hpp"

namespace multitree {

/// Square, row by row.
struct IntegerMatrix {
  explicit IntegerMatrix(std::size_t n) : size(n), entries(n * n, 0) {}
  std::size_t size;
  std::vector<std::int32_t> entries;
  [[nodiscard]] std::int32_t& at(std::size_t row, std::size_t column) {
    return entries[row * size + column];
  }
  [[nodiscard]] std::int32_t at(std::size_t row, std::size_t column) const {
    return entries[row * size + column];
  }
  [[nodiscard]] IntegerMatrix transposed() const;
};

/// x with matrix * x = right; empty if the matrix is singular.
///
/// Dixon's method (Numer. Math. 40, 1982): the inverse modulo one prime yields the solution digit
/// by digit modulo its powers, and fractions are read from enough digits. O(n^3) word operations
/// and O(n^2) for each digit, where elimination with fractions would swell.
/// \pre |right| < 2^62.
std::optional<std::vector<Exact>> solve_exactly(const IntegerMatrix& matrix,
                                                const std::vector<std::int64_t>& right);

/// The least common multiple of the denominators.
boost::multiprecision::cpp_int common_denominator(const std::vector<Exact>& values);

/// value * scale, which must be whole.
boost::multiprecision::cpp_int scaled(const Exact& value,
                                      const boost::multiprecision::cpp_int& scale);

}  // namespace multitree
