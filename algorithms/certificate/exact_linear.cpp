// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dixon's p-adic solution of linear equations.
#include <cmath>
#include <utility>

#include "algorithms/certificate/exact_linear_internal.hpp"

namespace multitree {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// Digits are modulo this prime; products of two digits fit 64 bits.
constexpr std::uint64_t kPrime = 2147483629;

std::uint64_t residue(std::int64_t value) {
  const std::int64_t rest = value % static_cast<std::int64_t>(kPrime);
  return static_cast<std::uint64_t>(rest < 0 ? rest + static_cast<std::int64_t>(kPrime) : rest);
}

std::uint64_t inverse(std::uint64_t value) {
  std::uint64_t result = 1;
  for (std::uint64_t power = kPrime - 2; power != 0; power >>= 1) {
    if (power & 1) result = result * value % kPrime;
    value = value * value % kPrime;
  }
  return result;
}

/// The inverse modulo the prime by Gauss and Jordan, row by row; empty if there is none.
std::vector<std::uint64_t> inverse_matrix(const IntegerMatrix& matrix) {
  const std::size_t n = matrix.size, width = 2 * n;
  std::vector<std::uint64_t> rows(n * width, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) rows[i * width + j] = residue(matrix.at(i, j));
    rows[i * width + n + i] = 1;
  }
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t pivot = step;
    while (pivot < n && rows[pivot * width + step] == 0) ++pivot;
    if (pivot == n) return {};
    const auto begin = [&](std::size_t row) {
      return rows.begin() + static_cast<std::ptrdiff_t>(row * width);
    };
    if (pivot != step) std::swap_ranges(begin(pivot), begin(pivot + 1), begin(step));
    const std::uint64_t scale = inverse(rows[step * width + step]);
    for (std::size_t j = step; j < width; ++j) {
      rows[step * width + j] = rows[step * width + j] * scale % kPrime;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t factor = rows[i * width + step];
      if (i == step || factor == 0) continue;
      for (std::size_t j = step; j < width; ++j) {
        const std::uint64_t take = rows[step * width + j];
        if (take == 0) continue;
        rows[i * width + j] = (rows[i * width + j] + (kPrime - factor) * take) % kPrime;
      }
    }
  }
  std::vector<std::uint64_t> result(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) result[i * n + j] = rows[i * width + n + j];
  }
  return result;
}

/// The fraction with small terms that is `digits` modulo `modulus` (Wang, Guy, Davenport 1982);
/// empty if there is none with terms below sqrt(modulus / 2).
std::optional<Exact> read_fraction(const Integer& digits, const Integer& modulus,
                                   const Integer& limit) {
  Integer r0 = modulus, r1 = digits, t0 = 0, t1 = 1;
  while (r1 > limit) {
    const Integer quotient = r0 / r1;
    r0 -= quotient * r1;
    t0 -= quotient * t1;
    std::swap(r0, r1);
    std::swap(t0, t1);
  }
  if (t1 == 0 || abs(t1) > limit) return std::nullopt;
  return t1 < 0 ? Exact(-r1, -t1) : Exact(r1, t1);
}

bool solves(const IntegerMatrix& matrix, const std::vector<Exact>& x,
            const std::vector<std::int64_t>& right) {
  const Integer denominator = common_denominator(x);
  std::vector<Integer> numerators;
  for (const Exact& value : x) numerators.push_back(scaled(value, denominator));
  for (std::size_t i = 0; i < matrix.size; ++i) {
    Integer left = 0;
    for (std::size_t j = 0; j < matrix.size; ++j) {
      if (matrix.at(i, j) != 0) left += numerators[j] * matrix.at(i, j);
    }
    if (left != denominator * right[i]) return false;
  }
  return true;
}

/// Reads all fractions. Solutions share most of their denominator, so what is known of it is
/// multiplied in first.
std::optional<std::vector<Exact>> read_fractions(const std::vector<Integer>& digits,
                                                 const Integer& modulus) {
  const Integer limit = sqrt(Integer(modulus / 2));
  std::vector<Exact> x;
  Integer denominator = 1;
  for (const Integer& digit : digits) {
    const auto fraction = read_fraction(digit * denominator % modulus, modulus, limit);
    if (!fraction) return std::nullopt;
    x.push_back(*fraction / Exact(denominator));
    denominator *= boost::multiprecision::denominator(*fraction);
  }
  return x;
}

/// Enough digits for any solution: numerator and denominator are determinants (Hadamard).
std::size_t most_digits(const IntegerMatrix& matrix) {
  double bits = 70;
  for (std::size_t i = 0; i < matrix.size; ++i) {
    double square = 1;
    for (std::size_t j = 0; j < matrix.size; ++j) {
      square += static_cast<double>(matrix.at(i, j)) * matrix.at(i, j);
    }
    bits += std::log2(square);  // once for each term of the fraction
  }
  return static_cast<std::size_t>(bits / 30) + 4;
}

}  // namespace

IntegerMatrix IntegerMatrix::transposed() const {
  IntegerMatrix result(size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) result.at(j, i) = at(i, j);
  }
  return result;
}

Integer common_denominator(const std::vector<Exact>& values) {
  Integer result = 1;
  for (const Exact& value : values) result = lcm(result, denominator(value));
  return result;
}

Integer scaled(const Exact& value, const Integer& scale) {
  return numerator(value) * (scale / denominator(value));
}

std::optional<std::vector<Exact>> solve_exactly(const IntegerMatrix& matrix,
                                                const std::vector<std::int64_t>& right) {
  const std::size_t n = matrix.size;
  const std::vector<std::uint64_t> inverted = inverse_matrix(matrix);
  if (inverted.empty() && n != 0) return std::nullopt;
  std::vector<std::int64_t> rest = right;
  std::vector<Integer> digits(n, 0);
  std::vector<std::uint64_t> digit(n);
  Integer power = 1;
  const std::size_t most = most_digits(matrix);
  for (std::size_t count = 1, next_try = 2; count <= most; ++count) {
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        sum = (sum + inverted[i * n + j] * residue(rest[j])) % kPrime;
      }
      digit[i] = sum;
      digits[i] += power * sum;
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        rest[i] -= matrix.at(i, j) * static_cast<std::int64_t>(digit[j]);
      }
      rest[i] /= static_cast<std::int64_t>(kPrime);  // without remainder
    }
    power *= kPrime;
    if (count != next_try && count != most) continue;
    next_try += 1 + next_try / 2;
    auto x = read_fractions(digits, power);
    if (x && solves(matrix, *x, right)) return x;
  }
  return std::nullopt;
}

}  // namespace multitree
