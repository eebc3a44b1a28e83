/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA's 16-bit floats, for the host: bits, and conversions that round to nearest even. */
#ifndef MULTITREE_NCCL_TESTS_CUDA_FP16_H
#define MULTITREE_NCCL_TESTS_CUDA_FP16_H

#include <cstdint>
#include <cstring>

struct half {
  std::uint16_t bits;
  half() = default;
  half(double value) {
    const auto rounded = static_cast<_Float16>(value);
    std::memcpy(&bits, &rounded, sizeof bits);
  }
  operator float() const {
    _Float16 value;
    std::memcpy(&value, &bits, sizeof bits);
    return static_cast<float>(value);
  }
};
using __half = half;
inline half __float2half(float value) { return half(static_cast<double>(value)); }
inline half __double2half(double value) { return half(value); }
inline half __ull2half_rn(unsigned long long value) { return half(static_cast<double>(value)); }
inline float __half2float(half value) { return value; }

struct __nv_bfloat16 {
  std::uint16_t bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(float value) {
    std::uint32_t wide;
    std::memcpy(&wide, &value, sizeof wide);
    const bool nan = (wide & 0x7fffffffU) > 0x7f800000U;
    wide += nan ? 0x10000U : 0x7fffU + (wide >> 16 & 1U);
    bits = static_cast<std::uint16_t>(wide >> 16);
  }
  operator float() const {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};
inline __nv_bfloat16 __float2bfloat16(float value) { return __nv_bfloat16(value); }
/* Twice rounded, as these tests have values that are exact in float. */
inline __nv_bfloat16 __double2bfloat16(double value) {
  return __nv_bfloat16(static_cast<float>(value));
}
inline float __bfloat162float(__nv_bfloat16 value) { return value; }
#define __CUDA_BF16_TYPES_EXIST__

#endif
