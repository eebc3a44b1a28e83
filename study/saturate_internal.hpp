// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums and products of cycles; those that leave 64 bits are the largest number.
#pragma once

#include <cstdint>
#include <limits>

namespace multitree::study {

inline std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

inline std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

}  // namespace multitree::study
