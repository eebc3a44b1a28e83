// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// 16-bit floats by conversion to float and back, rounding to nearest even.
#pragma once

#include <cstdint>

/// Also in files that are compiled for other processors, of which nothing may be linked elsewhere.
#define MULTITREE_FLOAT16 __attribute__((always_inline))

namespace multitree::runtime {

/// IEEE 754 binary16. Branch-free in effect, so that loops over it vectorise.
struct Half {
  std::uint16_t bits;

  [[nodiscard]] MULTITREE_FLOAT16 float to_float() const {
    const std::uint32_t magnitude = bits & 0x7fffU;
    const std::uint32_t normal = (magnitude << 13) + ((127U - 15U) << 23);
    const std::uint32_t special = (magnitude << 13) | 0x7f800000U;  // infinity and NaN payloads
    // A subnormal is a small integer times 2^-24, exact in float.
    const auto subnormal = __builtin_bit_cast(
        std::uint32_t, static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
    std::uint32_t result = magnitude >= 0x7c00U ? special : normal;
    result = magnitude < 0x0400U ? subnormal : result;
    return __builtin_bit_cast(float, result | (static_cast<std::uint32_t>(bits & 0x8000U) << 16));
  }

  [[nodiscard]] MULTITREE_FLOAT16 static Half from_float(float value) {
    const auto all = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t sign = all & 0x80000000U;
    const std::uint32_t magnitude = all ^ sign;
    // Adding 0.5 aligns the subnormal's last place with float's: the addition rounds for us.
    const float aligned = __builtin_bit_cast(float, magnitude) + 0.5F;
    const std::uint32_t subnormal = __builtin_bit_cast(std::uint32_t, aligned) - 0x3f000000U;
    const std::uint32_t odd = (magnitude >> 13) & 1U;
    const std::uint32_t normal = (magnitude - ((127U - 15U) << 23) + 0xfffU + odd) >> 13;
    const std::uint32_t special = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
    std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
    result = magnitude >= (143U << 23) ? special : result;  // 65536 and above
    return Half{static_cast<std::uint16_t>(result | (sign >> 16))};
  }
};

/// bfloat16: the upper half of a float.
struct Bfloat {
  std::uint16_t bits;

  [[nodiscard]] MULTITREE_FLOAT16 float to_float() const {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
  }

  [[nodiscard]] MULTITREE_FLOAT16 static Bfloat from_float(float value) {
    const auto all = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t rounded = (all + 0x7fffU + ((all >> 16) & 1U)) >> 16;
    const std::uint32_t quiet = (all >> 16) | 0x40U;  // rounding could turn a NaN into infinity
    const bool nan = (all & 0x7fffffffU) > 0x7f800000U;
    return Bfloat{static_cast<std::uint16_t>(nan ? quiet : rounded)};
  }
};

}  // namespace multitree::runtime
