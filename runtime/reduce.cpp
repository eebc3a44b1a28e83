// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels: one loop, instantiated for every type and operator, found through a table.
#include "runtime/reduce.hpp"

#include <array>
#include <type_traits>

#include "runtime/float16_internal.hpp"

namespace multitree::runtime {
namespace {

/// How a stored element is computed with: itself, or float for the 16-bit types.
template <typename T>
struct Arithmetic {
  using Value = T;
  static Value load(T stored) { return stored; }
  static T store(Value value) { return value; }
};
template <typename T>
struct SixteenBit {
  using Value = float;
  static Value load(T stored) { return stored.to_float(); }
  static T store(Value value) { return T::from_float(value); }
};
template <>
struct Arithmetic<Half> : SixteenBit<Half> {};
template <>
struct Arithmetic<Bfloat> : SixteenBit<Bfloat> {};

/// Signed overflow is undefined; the unsigned result has the bits that wrapping gives.
template <typename T, typename F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(f(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return f(a, b);
  }
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <typename T, typename F>
void reduce_loop(void* accumulator, const void* input, std::size_t count) {
  T* __restrict a = static_cast<T*>(accumulator);
  const T* __restrict b = static_cast<const T*>(input);
  const F f{};
  for (std::size_t i = 0; i < count; ++i) {
    using A = Arithmetic<T>;
    a[i] = A::store(f(A::load(a[i]), A::load(b[i])));
  }
}

template <typename T, typename F>
void combine_loop(void* result, const void* first, const void* second, std::size_t count) {
  T* __restrict r = static_cast<T*>(result);
  const T* __restrict a = static_cast<const T*>(first);
  const T* __restrict b = static_cast<const T*>(second);
  const F f{};
  for (std::size_t i = 0; i < count; ++i) {
    using A = Arithmetic<T>;
    r[i] = A::store(f(A::load(a[i]), A::load(b[i])));
  }
}

template <typename T>
void divide_loop(void* data, std::size_t count, std::uint32_t ranks) {
  T* a = static_cast<T*>(data);
  using A = Arithmetic<T>;
  using Value = typename A::Value;
  // Integers divide as 64 bits: `ranks` need not fit the type.
  using Wide = std::conditional_t<std::is_integral_v<Value>, std::int64_t, Value>;
  const auto divisor = static_cast<Wide>(ranks);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = A::store(static_cast<Value>(static_cast<Wide>(A::load(a[i])) / divisor));
  }
}

using ReduceKernel = void (*)(void*, const void*, std::size_t);
using CombineKernel = void (*)(void*, const void*, const void*, std::size_t);
using DivideKernel = void (*)(void*, std::size_t, std::uint32_t);

struct Kernels {
  std::array<ReduceKernel, 5> reduce;    ///< by ReduceOp
  std::array<CombineKernel, 5> combine;  ///< likewise
  DivideKernel divide;
};

template <typename T, typename... F>
constexpr Kernels kernels_of() {
  return {{&reduce_loop<T, F>...}, {&combine_loop<T, F>...}, &divide_loop<T>};
}

template <typename T>
constexpr Kernels kernels() {
  return kernels_of<T, Add, Multiply, Minimum, Maximum, Add>();
}

// Row i serves DataType i.
constexpr std::array<Kernels, 8> kKernels{
    kernels<std::int8_t>(),  kernels<std::uint8_t>(), kernels<std::int32_t>(),
    kernels<std::int64_t>(), kernels<Half>(),         kernels<Bfloat>(),
    kernels<float>(),        kernels<double>(),
};

}  // namespace

void reduce(void* accumulator, const void* input, std::size_t count, DataType type, ReduceOp op) {
  kKernels[static_cast<std::size_t>(type)].reduce[static_cast<std::size_t>(op)](accumulator, input,
                                                                                count);
}

void reduce(void* result, const void* first, const void* second, std::size_t count, DataType type,
            ReduceOp op) {
  kKernels[static_cast<std::size_t>(type)].combine[static_cast<std::size_t>(op)](result, first,
                                                                                 second, count);
}

void finish_reduction(void* data, std::size_t count, DataType type, ReduceOp op,
                      std::uint32_t ranks) {
  if (op == ReduceOp::Avg && ranks > 1) {
    kKernels[static_cast<std::size_t>(type)].divide(data, count, ranks);
  }
}

}  // namespace multitree::runtime
