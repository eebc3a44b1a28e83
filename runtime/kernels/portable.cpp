// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels in plain C++: for processors without kernels of their own, and the definition of
/// what all others compute.
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/kernels/exact_loops_internal.hpp"
#include "runtime/kernels/float16_internal.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "runtime/kernels/wire_loops_internal.hpp"

namespace multitree::runtime::kernels {
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

/// A NaN operand made quiet; of two the first. What a processor and a compiler make of them
/// differs.
template <typename T>
T with_nan(T a, T b, T result) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits quiet = Bits{1} << (std::numeric_limits<T>::digits - 2);
  constexpr Bits invalid = ~(quiet - 1);  // of inf - inf and the like, as on x86: with the sign
  Bits bits = result != result ? invalid : __builtin_bit_cast(Bits, result);
  bits = b != b ? __builtin_bit_cast(Bits, b) | quiet : bits;
  bits = a != a ? __builtin_bit_cast(Bits, a) | quiet : bits;
  return __builtin_bit_cast(T, bits);
}

/// Signed overflow is undefined; the unsigned result has the bits that wrapping gives.
template <typename T, typename F>
T computed(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
    return static_cast<T>(f(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return with_nan(a, b, f(a, b));
  }
}

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return computed(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return computed(a, b, [](auto x, auto y) { return x * y; });
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

struct BitAnd {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct LogicalAnd {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a != 0 && b != 0);
  }
};
struct LogicalOr {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a != 0 || b != 0);
  }
};
struct LogicalXor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>((a != 0) != (b != 0));
  }
};

/// Elements at a time: local, so that a compiler sees that nothing overlaps, and makes vectors.
constexpr std::size_t kBlock = 512;

template <typename T, typename F>
void combine(void* out, const void* const* in, std::size_t inputs, std::size_t count) {
  using A = Arithmetic<T>;
  const F f{};
  T sum[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t length = count - at < kBlock ? count - at : kBlock;
    std::memcpy(sum, static_cast<const char*>(in[0]) + at * sizeof(T), length * sizeof(T));
    for (std::size_t j = 1; j < inputs; ++j) {
      const char* const next = static_cast<const char*>(in[j]) + at * sizeof(T);
      for (std::size_t i = 0; i < length; ++i) {
        T operand;  // at any alignment, as for the vector kernels
        std::memcpy(&operand, next + i * sizeof(T), sizeof(T));
        sum[i] = A::store(f(A::load(sum[i]), A::load(operand)));
      }
    }
    std::memcpy(static_cast<char*>(out) + at * sizeof(T), sum, length * sizeof(T));
  }
}

template <typename T>
void divide(void* data, std::size_t count, std::uint32_t divisor) {
  T* a = static_cast<T*>(data);
  using A = Arithmetic<T>;
  using Value = typename A::Value;
  // Integers divide as 64 bits: the divisor need not fit the type.
  using Integer = std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>;
  using Wide = std::conditional_t<std::is_integral_v<Value>, Integer, Value>;
  const auto by = static_cast<Wide>(divisor);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = A::store(static_cast<Value>(static_cast<Wide>(A::load(a[i])) / by));
  }
}

void stream(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

template <typename T>
constexpr CombineRow row() {
  CombineRow kernels{&combine<T, Add>, &combine<T, Multiply>, &combine<T, Minimum>,
                     &combine<T, Maximum>, &combine<T, Add>};
  if constexpr (std::is_integral_v<T>) {
    kernels = {&combine<T, Add>,       &combine<T, Multiply>,  &combine<T, Minimum>,
               &combine<T, Maximum>,   &combine<T, Add>,       &combine<T, BitAnd>,
               &combine<T, BitOr>,     &combine<T, BitXor>,    &combine<T, LogicalAnd>,
               &combine<T, LogicalOr>, &combine<T, LogicalXor>};
  }
  kernels[kernels.size() - 1] = &combine<T, Add>;  // what is summed has been multiplied already
  return kernels;
}

}  // namespace

constexpr Set kPortable{
    "portable",
    {row<std::int8_t>(), row<std::uint8_t>(), row<std::int32_t>(), row<std::int64_t>(), row<Half>(),
     row<Bfloat>(), row<float>(), row<double>(), row<std::int16_t>(), row<std::uint16_t>(),
     row<std::uint32_t>(), row<std::uint64_t>()},
    &stream,
    kWireCodecs,
    kExactCodecs};

constexpr std::array<Divide, 12> kDivide{
    &divide<std::int8_t>,  &divide<std::uint8_t>,  &divide<std::int32_t>,  &divide<std::int64_t>,
    &divide<Half>,         &divide<Bfloat>,        &divide<float>,         &divide<double>,
    &divide<std::int16_t>, &divide<std::uint16_t>, &divide<std::uint32_t>, &divide<std::uint64_t>};

}  // namespace multitree::runtime::kernels
