// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Kernels for processors with AVX2 and F16C. Compiled for them: see CMakeLists.txt.
#include <immintrin.h>

#include <cstddef>

namespace multitree::runtime::kernels {
namespace {
constexpr std::size_t kVectorBytes = 32;
}
}  // namespace multitree::runtime::kernels

#include "runtime/kernels/isa_internal.hpp"
#include "runtime/kernels/loops_internal.hpp"

namespace multitree::runtime::kernels {
namespace {

/// As Half, by the instructions for it; those keep a NaN's payload, which Half does not.
struct HalfByF16c {
  static MULTITREE_INLINE Pair unpack(U32 v) {
    const __m256i all = (__m256i)v;
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(all)),
            _mm256_cvtph_ps(_mm256_extracti128_si256(all, 1))};
  }
  static MULTITREE_INLINE U32 pack(Pair p) {
    const __m256i all = _mm256_set_m128i(_mm256_cvtps_ph(p.high, _MM_FROUND_TO_NEAREST_INT),
                                         _mm256_cvtps_ph(p.low, _MM_FROUND_TO_NEAREST_INT));
    const __m256i magnitude = _mm256_and_si256(all, _mm256_set1_epi16(0x7fff));
    const __m256i nan = _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7c00));
    const __m256i canonical = _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi16(0x7fff), all),
                                              _mm256_set1_epi16(0x7e00));
    return (U32)_mm256_blendv_epi8(all, canonical, nan);
  }
};

}  // namespace

constexpr Set kAvx2 = make_set<Sixteen<HalfByF16c>, Bfloats>("avx2");

}  // namespace multitree::runtime::kernels
