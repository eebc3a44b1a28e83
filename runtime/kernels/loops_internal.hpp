// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The vector loops, for one instruction set: included by the file that is compiled for it.
///
/// That file has before: kVectorBytes, and add_ps, add_pd, mul_ps, mul_pd in namespace `isa`.
/// Nothing here may have external linkage: the linker keeps one copy of an inline function, which
/// might then be the one that this processor cannot run. So the standard library stays out as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/exact_loops_internal.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "runtime/kernels/wire_loops_internal.hpp"

namespace multitree::runtime::kernels {
namespace {

#define MULTITREE_INLINE inline __attribute__((always_inline))

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
};
using F32 = VectorOf<float>::Type;
using F64 = VectorOf<double>::Type;
using S16 = VectorOf<std::int16_t>::Type;
using U16 = VectorOf<std::uint16_t>::Type;
using S32 = VectorOf<std::int32_t>::Type;
using U32 = VectorOf<std::uint32_t>::Type;

/// Elements that are computed with as they are. Sums and products wrap.
template <typename T, typename Unsigned>
struct Integers {
  static constexpr std::size_t kElement = sizeof(T);
  using Vector = typename VectorOf<T>::Type;
  using Wrapping = typename VectorOf<Unsigned>::Type;
  static MULTITREE_INLINE Vector add(Vector a, Vector b) {
    return (Vector)((Wrapping)a + (Wrapping)b);
  }
  static MULTITREE_INLINE Vector mul(Vector a, Vector b) {
    return (Vector)((Wrapping)a * (Wrapping)b);
  }
  static MULTITREE_INLINE Vector min(Vector a, Vector b) { return b < a ? b : a; }
  static MULTITREE_INLINE Vector max(Vector a, Vector b) { return a < b ? b : a; }
};

/// There is no product of bytes: those of words, of which the low byte is the product.
template <typename T>
struct Bytes : Integers<T, std::uint8_t> {
  using Vector = typename VectorOf<T>::Type;
  static MULTITREE_INLINE Vector mul(Vector a, Vector b) {
    const U16 even = (U16)a * (U16)b;
    const U16 odd = ((U16)a >> 8) * ((U16)b & 0xff00);
    return (Vector)((even & 0x00ff) | odd);
  }
};

/// Sums and products are instructions with their operands in this order: of two NaNs the processor
/// keeps the first, and a compiler may swap what it knows to commute.
struct Floats {
  static constexpr std::size_t kElement = sizeof(float);
  using Vector = F32;
  static MULTITREE_INLINE F32 add(F32 a, F32 b) { return isa::add_ps(a, b); }
  static MULTITREE_INLINE F32 mul(F32 a, F32 b) { return isa::mul_ps(a, b); }
  static MULTITREE_INLINE F32 min(F32 a, F32 b) { return isa::min_ps(b, a); }
  static MULTITREE_INLINE F32 max(F32 a, F32 b) { return isa::max_ps(b, a); }
};
struct Doubles {
  static constexpr std::size_t kElement = sizeof(double);
  using Vector = F64;
  static MULTITREE_INLINE F64 add(F64 a, F64 b) { return isa::add_pd(a, b); }
  static MULTITREE_INLINE F64 mul(F64 a, F64 b) { return isa::mul_pd(a, b); }
  static MULTITREE_INLINE F64 min(F64 a, F64 b) { return b < a ? b : a; }
  static MULTITREE_INLINE F64 max(F64 a, F64 b) { return a < b ? b : a; }
};

/// A vector of 16-bit floats as two of floats, in any order that pack() undoes.
struct Pair {
  F32 low, high;
};

/// 16-bit floats through floats, rounded after each operation.
template <typename Format>
struct Sixteen {
  static constexpr std::size_t kElement = 2;
  using Vector = U32;
  template <typename F>
  static MULTITREE_INLINE U32 each(U32 a, U32 b, F f) {
    const Pair x = Format::unpack(a), y = Format::unpack(b);
    return Format::pack({f(x.low, y.low), f(x.high, y.high)});
  }
  static MULTITREE_INLINE U32 add(U32 a, U32 b) { return each(a, b, Floats::add); }
  static MULTITREE_INLINE U32 mul(U32 a, U32 b) { return each(a, b, Floats::mul); }
  static MULTITREE_INLINE U32 min(U32 a, U32 b) { return each(a, b, Floats::min); }
  static MULTITREE_INLINE U32 max(U32 a, U32 b) { return each(a, b, Floats::max); }
};

/// As Bfloat (float16_internal.hpp), two to a lane.
struct BfloatFormat {
  static MULTITREE_INLINE Pair unpack(U32 v) { return {(F32)(v << 16), (F32)(v & 0xffff0000U)}; }
  static MULTITREE_INLINE U32 round(F32 value) {
    const U32 all = (U32)value;
    const U32 rounded = all + 0x7fffU + ((all >> 16) & 1U);
    const S32 nan = (S32)(all & 0x7fffffffU) > 0x7f800000;
    return nan ? all | 0x400000U : rounded;
  }
  static MULTITREE_INLINE U32 pack(Pair p) {
    return (round(p.low) >> 16) | (round(p.high) & 0xffff0000U);
  }
};

/// A minimum or maximum is one of the operands, so nothing is rounded; only a NaN is made quiet.
struct Bfloats : Sixteen<BfloatFormat> {
  static MULTITREE_INLINE U32 exact(Pair p) {
    const U32 all = ((U32)p.low >> 16) | ((U32)p.high & 0xffff0000U);
    const S16 nan = ((S16)all & 0x7fff) > 0x7f80;
    return all | ((U32)nan & 0x00400040U);
  }
  static MULTITREE_INLINE U32 min(U32 a, U32 b) {
    const Pair x = BfloatFormat::unpack(a), y = BfloatFormat::unpack(b);
    return exact({Floats::min(x.low, y.low), Floats::min(x.high, y.high)});
  }
  static MULTITREE_INLINE U32 max(U32 a, U32 b) {
    const Pair x = BfloatFormat::unpack(a), y = BfloatFormat::unpack(b);
    return exact({Floats::max(x.low, y.low), Floats::max(x.high, y.high)});
  }
};

/// As Half (float16_internal.hpp), two to a lane, by integer operations.
struct HalfFormat {
  static MULTITREE_INLINE F32 widen(U32 bits) {
    const U32 magnitude = bits & 0x7fffU;
    const U32 normal = (magnitude << 13) + ((127U - 15U) << 23);
    const U32 special = (magnitude << 13) | 0x7f800000U;
    const U32 subnormal = (U32)(__builtin_convertvector((S32)magnitude, F32) * 0x1p-24F);
    U32 result = (S32)magnitude >= 0x7c00 ? special : normal;
    result = (S32)magnitude < 0x0400 ? subnormal : result;
    return (F32)(result | ((bits & 0x8000U) << 16));
  }
  static MULTITREE_INLINE U32 round(F32 value) {
    const U32 all = (U32)value;
    const U32 sign = all & 0x80000000U;
    const U32 magnitude = all ^ sign;
    const U32 subnormal = (U32)((F32)magnitude + 0.5F) - 0x3f000000U;
    const U32 odd = (magnitude >> 13) & 1U;
    const U32 normal = (magnitude - ((127U - 15U) << 23) + 0xfffU + odd) >> 13;
    const U32 kNan = U32{} + 0x7e00U, kInfinity = U32{} + 0x7c00U;
    const U32 special = (S32)magnitude > 0x7f800000 ? kNan : kInfinity;
    U32 result = (S32)magnitude < (113 << 23) ? subnormal : normal;
    result = (S32)magnitude >= (143 << 23) ? special : result;
    return result | (sign >> 16);
  }
  static MULTITREE_INLINE Pair unpack(U32 v) { return {widen(v & 0xffffU), widen(v >> 16)}; }
  static MULTITREE_INLINE U32 pack(Pair p) { return round(p.low) | (round(p.high) << 16); }
};

struct Add {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return E::add(a, b);
  }
  /// Several vectors at a time, where a type has a better way for that.
  template <typename E, std::size_t n, typename V>
  static MULTITREE_INLINE void apply_all(V (&sum)[n], const V (&next)[n]) {
    if constexpr (requires { E::add_all(sum, next); }) {
      E::add_all(sum, next);
    } else {
      for (std::size_t u = 0; u < n; ++u) sum[u] = E::add(sum[u], next[u]);
    }
  }
};
/// The others: one vector after the other.
template <typename Operation>
struct OneByOne {
  template <typename E, std::size_t n, typename V>
  static MULTITREE_INLINE void apply_all(V (&sum)[n], const V (&next)[n]) {
    for (std::size_t u = 0; u < n; ++u) sum[u] = Operation::template apply<E>(sum[u], next[u]);
  }
};
struct Multiply : OneByOne<Multiply> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return E::mul(a, b);
  }
};
struct Minimum : OneByOne<Minimum> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return E::min(a, b);
  }
};
struct Maximum : OneByOne<Maximum> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return E::max(a, b);
  }
};

/// Operators that know no signs: of elements as they are, so wide.
template <typename T>
struct Logic {
  static constexpr std::size_t kElement = sizeof(T);
  using Vector = typename VectorOf<T>::Type;
};
struct BitAnd : OneByOne<BitAnd> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return a & b;
  }
};
struct BitOr : OneByOne<BitOr> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return a | b;
  }
};
struct BitXor : OneByOne<BitXor> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return a ^ b;
  }
};
/// A comparison of vectors gives all bits or none.
struct LogicalAnd : OneByOne<LogicalAnd> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return (V)((a != 0) & (b != 0)) & 1;
  }
};
struct LogicalOr : OneByOne<LogicalOr> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return (V)((a | b) != 0) & 1;
  }
};
struct LogicalXor : OneByOne<LogicalXor> {
  template <typename E, typename V>
  static MULTITREE_INLINE V apply(V a, V b) {
    return (V)((a != 0) ^ (b != 0)) & 1;
  }
};

template <typename V>
MULTITREE_INLINE V load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

/// `kVectors` vectors at byte `at` of all inputs.
template <typename E, typename F, std::size_t kVectors>
MULTITREE_INLINE void step(char* out, const char* const* in, std::size_t inputs, std::size_t at) {
  using V = typename E::Vector;
  V sum[kVectors];
  for (std::size_t u = 0; u < kVectors; ++u) sum[u] = load<V>(in[0] + at + u * sizeof(V));
  for (std::size_t j = 1; j < inputs; ++j) {
    const char* const next = in[j] + at;
    V operands[kVectors];
    for (std::size_t u = 0; u < kVectors; ++u) operands[u] = load<V>(next + u * sizeof(V));
    F::template apply_all<E>(sum, operands);
  }
  for (std::size_t u = 0; u < kVectors; ++u) {
    __builtin_memcpy(out + at + u * sizeof(V), &sum[u], sizeof(V));
  }
}

/// What is left is computed as a whole vector too, so that it has the same bits wherever it lies.
template <typename E, typename F>
void tail(char* out, const char* const* in, std::size_t inputs, std::size_t at, std::size_t bytes) {
  char padded[kMaxInputs][kVectorBytes];
  const char* at_padded[kMaxInputs] = {};
  char result[kVectorBytes];
  for (std::size_t j = 0; j < inputs; ++j) {
    __builtin_memset(padded[j], 0, kVectorBytes);
    __builtin_memcpy(padded[j], in[j] + at, bytes);
    at_padded[j] = padded[j];
  }
  step<E, F, 1>(result, at_padded, inputs, 0);
  __builtin_memcpy(out + at, result, bytes);
}

/// 16-bit floats take so many instructions a line that a processor does not look far enough ahead.
constexpr std::size_t kAhead = 512;

template <typename E, typename F>
MULTITREE_INLINE void loop(char* out, const char* const* in, std::size_t inputs,
                           std::size_t bytes) {
  std::size_t at = 0;
  for (; at + 4 * kVectorBytes <= bytes; at += 4 * kVectorBytes) {
    if constexpr (E::kElement == 2) {
      for (std::size_t j = 0; j < inputs; ++j) {
        for (std::size_t ahead = 0; ahead < 4 * kVectorBytes; ahead += 64) {
          __builtin_prefetch(in[j] + at + kAhead + ahead);
        }
      }
    }
    step<E, F, 4>(out, in, inputs, at);
  }
  for (; at + kVectorBytes <= bytes; at += kVectorBytes) step<E, F, 1>(out, in, inputs, at);
  if (at != bytes) tail<E, F>(out, in, inputs, at, bytes - at);
}

template <typename E, typename F>
void combine(void* out, const void* const* in, std::size_t inputs, std::size_t count) {
  const std::size_t bytes = count * E::kElement;
  if (inputs == 2) {  // with the addresses in registers
    const char* const two[] = {static_cast<const char*>(in[0]), static_cast<const char*>(in[1])};
    return loop<E, F>(static_cast<char*>(out), two, 2, bytes);
  }
  const char* all[kMaxInputs];
  for (std::size_t j = 0; j < inputs; ++j) all[j] = static_cast<const char*>(in[j]);
  loop<E, F>(static_cast<char*>(out), all, inputs, bytes);
}

void stream(void* to, const void* from, std::size_t bytes) {
  char* out = static_cast<char*>(to);
  const char* in = static_cast<const char*>(from);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(out) % kVectorBytes;
  std::size_t head = misaligned == 0 ? 0 : kVectorBytes - misaligned;
  head = head < bytes ? head : bytes;
  __builtin_memcpy(out, in, head);
  std::size_t at = head;
  for (; at + 4 * kVectorBytes <= bytes; at += 4 * kVectorBytes) {
    for (std::size_t u = 0; u < 4; ++u) {
      isa::stream(out + at + u * kVectorBytes, load<F32>(in + at + u * kVectorBytes));
    }
  }
  __builtin_memcpy(out + at, in + at, bytes - at);
  __builtin_ia32_sfence();  // streaming stores are ordered by nothing else
}

template <typename E>
constexpr CombineRow row() {
  CombineRow kernels{&combine<E, Add>, &combine<E, Multiply>, &combine<E, Minimum>,
                     &combine<E, Maximum>, &combine<E, Add>};
  kernels[kernels.size() - 1] = &combine<E, Add>;  // what is summed has been multiplied already
  return kernels;
}

/// The row of integers, which as bits are those of `Unsigned`.
template <typename E, typename Unsigned>
constexpr CombineRow integers() {
  using L = Logic<Unsigned>;
  return {&combine<E, Add>,       &combine<E, Multiply>,   &combine<E, Minimum>,
          &combine<E, Maximum>,   &combine<E, Add>,        &combine<L, BitAnd>,
          &combine<L, BitOr>,     &combine<L, BitXor>,     &combine<L, LogicalAnd>,
          &combine<L, LogicalOr>, &combine<L, LogicalXor>, &combine<E, Add>};
}

template <typename T, typename Unsigned>
constexpr CombineRow words() {
  return integers<Integers<T, Unsigned>, Unsigned>();
}

/// All but the rows of the 16-bit floats, which instruction sets do in their own ways.
template <typename HalfElements, typename BfloatElements>
constexpr Set make_set(const char* name) {
  return {
      name,
      {integers<Bytes<std::int8_t>, std::uint8_t>(), integers<Bytes<std::uint8_t>, std::uint8_t>(),
       words<std::int32_t, std::uint32_t>(), words<std::int64_t, std::uint64_t>(),
       row<HalfElements>(), row<BfloatElements>(), row<Floats>(), row<Doubles>(),
       words<std::int16_t, std::uint16_t>(), words<std::uint16_t, std::uint16_t>(),
       words<std::uint32_t, std::uint32_t>(), words<std::uint64_t, std::uint64_t>()},
      &stream,
      kWireCodecs,
      kExactCodecs};
}

}  // namespace
}  // namespace multitree::runtime::kernels
