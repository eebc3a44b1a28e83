// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A matrix as the product of two narrow ones, found by a step of power iteration.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "training/compression/compressors_internal.hpp"

namespace multitree::training {
namespace {

/// Columns one behind the other.
struct Narrow {
  std::size_t rows = 0, columns = 0;
  std::vector<float> numbers;

  [[nodiscard]] std::span<float> column(std::size_t c) {
    return std::span(numbers).subspan(c * rows, rows);
  }
};

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

/// Gram-Schmidt, each column against those before it twice, as once leaves what rounding leaves. A
/// column that depends on those becomes 0.
void orthonormalise(Narrow& matrix) {
  for (std::size_t c = 0; c < matrix.columns; ++c) {
    const std::span<float> own = matrix.column(c);
    const double before = std::sqrt(dot(own, own));
    for (std::size_t again = 0; again < 2; ++again) {
      for (std::size_t other = 0; other < c; ++other) {
        const auto part = static_cast<float>(dot(own, matrix.column(other)));
        const std::span<const float> direction = matrix.column(other);
        for (std::size_t i = 0; i < own.size(); ++i) own[i] -= part * direction[i];
      }
    }
    const double length = std::sqrt(dot(own, own));
    const auto factor = static_cast<float>(length > 1e-6 * before ? 1 / length : 0.0);
    for (float& number : own) number *= std::isnan(length) ? static_cast<float>(length) : factor;
  }
}

/// PowerSGD with memory of the last call's right factor. The vector lies in a matrix that is about
/// square, row by row, its last row filled up with zeros.
class LowRank final : public Compressor {
 public:
  LowRank(std::size_t rank, std::uint64_t seed) : rank_(rank), seed_(seed) {}

  void sum(std::span<float> numbers, std::span<float> error, Exchange& exchange) override {
    add_error(numbers, error);
    shape(numbers.size());
    if (rank_ * (rows_ + columns_) >= numbers.size()) {  // there is nothing to be gained
      std::ranges::fill(error, 0.0F);
      return exchange.sum(numbers);
    }
    Narrow left{rows_, rank_, std::vector<float>(rows_ * rank_)};
    for (std::size_t r = 0; r < rows_; ++r) {
      const std::span<const float> row = row_of(numbers, r);
      for (std::size_t c = 0; c < rank_; ++c) {
        left.column(c)[r] = static_cast<float>(dot(row, right_.column(c).first(row.size())));
      }
    }
    exchange.sum(std::span<float>(left.numbers));
    orthonormalise(left);
    multiply_transposed(numbers, left);
    for (std::size_t i = 0; i < error.size(); ++i) {
      error[i] = numbers[i] - product(left, i);
      if (!std::isfinite(error[i])) error[i] = 0;
    }
    exchange.sum(std::span<float>(right_.numbers));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = product(left, i);
    const bool good = std::ranges::all_of(right_.numbers, [](float n) { return std::isfinite(n); });
    if (!good) right_ = {};  // the next call begins anew
  }

 private:
  void shape(std::size_t count) {
    const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
    columns_ = std::max<std::size_t>(side, 1);
    rows_ = (count + columns_ - 1) / columns_;
    if (right_.numbers.size() == columns_ * rank_) return;
    right_ = {columns_, rank_, std::vector<float>(columns_ * rank_)};
    std::mt19937_64 random(seed_);
    for (float& number : right_.numbers) {
      number = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
    }
  }

  [[nodiscard]] std::span<const float> row_of(std::span<const float> numbers, std::size_t r) const {
    const std::size_t begin = r * columns_;
    return numbers.subspan(begin, std::min(columns_, numbers.size() - begin));
  }

  void multiply_transposed(std::span<const float> numbers, Narrow& left) {
    std::ranges::fill(right_.numbers, 0.0F);
    for (std::size_t r = 0; r < rows_; ++r) {
      const std::span<const float> row = row_of(numbers, r);
      for (std::size_t c = 0; c < rank_; ++c) {
        const float factor = left.column(c)[r];
        const std::span<float> to = right_.column(c);
        for (std::size_t i = 0; i < row.size(); ++i) to[i] += factor * row[i];
      }
    }
  }

  [[nodiscard]] float product(Narrow& left, std::size_t i) {
    float sum = 0;
    for (std::size_t c = 0; c < rank_; ++c) {
      sum += left.column(c)[i / columns_] * right_.column(c)[i % columns_];
    }
    return sum;
  }

  std::size_t rank_;
  std::uint64_t seed_;
  std::size_t rows_ = 0, columns_ = 0;
  Narrow right_;
};

}  // namespace

std::unique_ptr<Compressor> make_powersgd(const Spec& options, std::uint64_t seed) {
  return std::make_unique<LowRank>(options.get_number("rank", 4, 1, 1024), seed);
}

}  // namespace multitree::training
