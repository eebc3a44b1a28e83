// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Types and operators on the device: the same results as runtime/kernels/reduce.cpp, bit by bit,
/// but for the payloads of 16-bit NaNs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace multitree::runtime::device::cuda {

/// How a stored element is computed with. Integers as unsigned of at least 32 bits, which wrap.
template <typename T>
struct Arithmetic {
  using Value = T;
  static __device__ Value load(T stored) { return stored; }
  static __device__ T store(Value value) { return value; }
};
template <>
struct Arithmetic<__half> {
  using Value = float;
  static __device__ float load(__half stored) { return __half2float(stored); }
  static __device__ __half store(float value) { return __float2half_rn(value); }
};
template <>
struct Arithmetic<__nv_bfloat16> {
  using Value = float;
  static __device__ float load(__nv_bfloat16 stored) { return __bfloat162float(stored); }
  static __device__ __nv_bfloat16 store(float value) { return __float2bfloat16_rn(value); }
};

template <typename T, typename F>
__device__ T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(f(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return f(a, b);
  }
}

struct Add {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Multiply {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Minimum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

}  // namespace multitree::runtime::device::cuda
