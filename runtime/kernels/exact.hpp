// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of floats that do not depend on their order: whole numbers times a power of two that all
/// contributions have in common, which integer sums add without rounding.
///
/// Of each element, or each block of 32, the largest exponent of all contributions is found first
/// (a maximum), then every contribution is rounded to whole multiples of the last place that
/// numbers of that exponent have (to nearest even; those of the largest exponent are exact), and
/// these are added. The sum is rounded once to the type (16-bit types: to float, then to the type).
/// With R contributions it is off by at most R/2 last places of a number with the largest exponent,
/// and by its last rounding. Subnormals are numbers of the least exponent; a sum of 0 is +0. An
/// element that is an infinity or NaN in some contribution becomes what IEEE 754 makes of the sum
/// of these, in any order: a NaN has one bit pattern. In blocks, the other elements of its block
/// become NaN. The bits are the same for every processor, and any number of ranks that bring the
/// same contributions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// How floats of one call are summed and lie in memory: shards one after the other, each with
/// blocks of its own.
struct ExactForm {
  DataType type{};
  Summing summing = Summing::Elements;  ///< not Floats
  bool wide = false;                    ///< whole numbers of 64 bits also for types up to 32 bits
  std::size_t count = 0;                ///< elements of a shard
  std::size_t shards = 1;

  [[nodiscard]] DataType exponent_type() const;
  [[nodiscard]] DataType whole_type() const;
  /// Of a shard.
  [[nodiscard]] std::size_t exponents() const;
};

/// For the sum of a contribution of each rank. \throws Error(Unsupported) for more ranks than whole
/// numbers of 64 bits have room for: 1,024 with double, 2^20 with other types
ExactForm exact_form(DataType type, Summing summing, std::uint32_t ranks);

/// Whether a sum of this type has anything to round; those of integers are exact as they are.
[[nodiscard]] bool sums_exactly(Summing summing, DataType type);

/// The biased exponents of `from`, all ones where something is not finite. Of as many shards as the
/// form has; so are the other two. Nothing may overlap but as said.
void exponents_of(const ExactForm& form, void* to, const void* from);
/// \pre `exponents` are at least those of `from`. `to` may be `from` where both have the same size.
void to_whole(const ExactForm& form, void* to, const void* from, const void* exponents);
/// `to` may be `from`.
void from_whole(const ExactForm& form, void* to, const void* from, const void* exponents);

}  // namespace multitree::runtime
