// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Kernels for processors with AVX-512 F, BW, DQ and VL. Compiled for them: see CMakeLists.txt.
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

/// As Half, by the instructions for it; those keep a NaN's payload, which Half does not.
struct HalfByF16c {
  static MULTITREE_INLINE Pair unpack(U32 v) {
    const __m512i all = (__m512i)v;
    return {_mm512_cvtph_ps(_mm512_castsi512_si256(all)),
            _mm512_cvtph_ps(_mm512_extracti64x4_epi64(all, 1))};
  }
  static MULTITREE_INLINE U32 pack(Pair p) {
    const __m512i all = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm512_cvtps_ph(p.low, _MM_FROUND_TO_NEAREST_INT)),
        _mm512_cvtps_ph(p.high, _MM_FROUND_TO_NEAREST_INT), 1);
    const __m512i magnitude = _mm512_and_si512(all, _mm512_set1_epi16(0x7fff));
    const __mmask32 nan = _mm512_cmpgt_epi16_mask(magnitude, _mm512_set1_epi16(0x7c00));
    const __m512i canonical = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi16(0x7fff), all),
                                              _mm512_set1_epi16(0x7e00));
    return (U32)_mm512_mask_mov_epi16(all, nan, canonical);
  }
};

}  // namespace

constexpr Set kAvx512 = make_set<Sixteen<HalfByF16c>, Bfloats>("avx512");

}  // namespace multitree::runtime::kernels
