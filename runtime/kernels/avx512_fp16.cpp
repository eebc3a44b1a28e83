// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The processor's own 16-bit floats: IEEE binary16 sums and products, and conversions to bfloat16.
///
/// A float has 24 >= 2 * 11 + 2 bits, so a binary16 sum or product computed in float and rounded is
/// the one rounded at once (Figueroa 1995): these have the bits of Half.
#include <immintrin.h>

#include <cstddef>

namespace multitree::runtime::kernels {
namespace {
constexpr std::size_t kVectorBytes = 64;
}
}  // namespace multitree::runtime::kernels

#include "runtime/kernels/isa_internal.hpp"
#include "runtime/kernels/loops_internal.hpp"

namespace multitree::runtime::kernels {
namespace {

constexpr S16 kTurnsWords = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                             8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};

struct NativeHalves {
  static constexpr std::size_t kElement = 2;
  using Vector = U32;

  /// A NaN becomes the one that Half makes of it: its sign, no payload.
  static MULTITREE_INLINE U32 canonical(__m512h value) {
    const __mmask32 nan = _mm512_cmp_ph_mask(value, value, _CMP_UNORD_Q);
    const __m512i all = _mm512_castph_si512(value);
    // 0x7e00 where magnitude bits are, the sign where it is: ~m & all | m & 0x7e00.
    const __m512i made =
        _mm512_ternarylogic_epi32(all, _mm512_set1_epi16(0x7fff), _mm512_set1_epi16(0x7e00), 0xb8);
    return (U32)_mm512_mask_mov_epi16(all, nan, made);
  }
  static MULTITREE_INLINE U32 add(U32 a, U32 b) {
    __m512h result;
    __asm__("vaddph %2, %1, %0" : "=v"(result) : "v"(a), "vm"(b));
    return canonical(result);
  }
  static MULTITREE_INLINE U32 mul(U32 a, U32 b) {
    __m512h result;
    __asm__("vmulph %2, %1, %0" : "=v"(result) : "v"(a), "vm"(b));
    return canonical(result);
  }
  /// b < a ? b : a, which is what the instruction does with b first.
  static MULTITREE_INLINE U32 min(U32 a, U32 b) {
    __m512h result;
    __asm__("vminph %2, %1, %0" : "=v"(result) : "v"(b), "vm"(a));
    return canonical(result);
  }
  static MULTITREE_INLINE U32 max(U32 a, U32 b) {
    __m512h result;
    __asm__("vmaxph %2, %1, %0" : "=v"(result) : "v"(b), "vm"(a));
    return canonical(result);
  }
};

/// As Bfloat by the instruction for it, but where it takes a subnormal for zero.
struct NativeBfloats : Bfloats {
  static MULTITREE_INLINE U32 pack(Pair p) {
    constexpr int kSubnormal = 0x20;
    const __mmask16 low = _mm512_fpclass_ps_mask(p.low, kSubnormal);
    const __mmask16 high = _mm512_fpclass_ps_mask(p.high, kSubnormal);
    if (__builtin_expect(_kortestz_mask16_u8(low, high) == 0, 0)) return BfloatFormat::pack(p);
    return convert(p);
  }
  /// Where nothing is subnormal.
  static MULTITREE_INLINE U32 convert(Pair p) {
    // All low ones, then all high ones: back in turns.
    const __m512i apart = (__m512i)_mm512_cvtne2ps_pbh(p.high, p.low);
    return (U32)_mm512_permutexvar_epi16((__m512i)kTurnsWords, apart);
  }
  /// Where a sum may be subnormal. With exponents of 8 or more (as they are stored) both operands
  /// are multiples of 2^-126, and so is the sum. Otherwise one, not zero, has an exponent below 8,
  /// the other at most 8 (or the sum is not that small): above bit 10, the lowest of 8, neither has
  /// an exponent bit, and bit 10 not both. Taken as binary16, bits 10 to 14 are the exponent, and
  /// what is asked is whether it is 0 and the rest is not.
  static MULTITREE_INLINE __mmask32 may_be_subnormal(U32 a, U32 b) {
    constexpr int kOrButAndWhereThird = 0xd4, kSubnormal = 0x20;
    const __m512i both = _mm512_ternarylogic_epi32((__m512i)a, (__m512i)b,
                                                   _mm512_set1_epi16(0x0400), kOrButAndWhereThird);
    // g++ 12's intrinsic asks about 8 of the 32 where nothing is optimised.
    __mmask32 subnormal;
    __asm__("vfpclassph %2, %1, %0" : "=k"(subnormal) : "v"(both), "i"(kSubnormal));
    return subnormal;
  }
  static MULTITREE_INLINE Pair sum(U32 a, U32 b) {
    const Pair x = BfloatFormat::unpack(a), y = BfloatFormat::unpack(b);
    return {Floats::add(x.low, y.low), Floats::add(x.high, y.high)};
  }
  template <std::size_t n>
  static MULTITREE_INLINE void add_all(U32 (&to)[n], const U32 (&with)[n]) {
    static_assert(n == 1 || n % 2 == 0);
    for (std::size_t u = 0; u < n; u += 2) {
      const std::size_t v = n == 1 ? 0 : u + 1;
      const __mmask32 rare = may_be_subnormal(to[u], with[u]);
      const __mmask32 other = may_be_subnormal(to[v], with[v]);
      const bool usual = _kortestz_mask32_u8(rare, other) != 0;
      const Pair first = sum(to[u], with[u]), second = sum(to[v], with[v]);
      if (__builtin_expect(usual, 1)) {
        to[u] = convert(first);
        if (v != u) to[v] = convert(second);
      } else {
        to[u] = BfloatFormat::pack(first);
        if (v != u) to[v] = BfloatFormat::pack(second);
      }
    }
  }
  static MULTITREE_INLINE U32 add(U32 a, U32 b) {
    const Pair x = BfloatFormat::unpack(a), y = BfloatFormat::unpack(b);
    return pack({Floats::add(x.low, y.low), Floats::add(x.high, y.high)});
  }
  static MULTITREE_INLINE U32 mul(U32 a, U32 b) {
    const Pair x = BfloatFormat::unpack(a), y = BfloatFormat::unpack(b);
    return pack({Floats::mul(x.low, y.low), Floats::mul(x.high, y.high)});
  }
  /// As Bfloats::exact(), where NaNs are rare enough to be looked for in both halves at once.
  static MULTITREE_INLINE U32 exact(Pair p) {
    const __mmask16 nan = _mm512_cmp_ps_mask(p.low, p.high, _CMP_UNORD_Q);
    if (__builtin_expect(nan != 0, 0)) return Bfloats::exact(p);
    return ((U32)p.low >> 16) | (U32)p.high;  // nothing is below the upper half
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

}  // namespace

constexpr Set kAvx512Fp16 = make_set<NativeHalves, NativeBfloats>("avx512-fp16");

}  // namespace multitree::runtime::kernels
