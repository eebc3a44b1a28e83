// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What mt_reduce_unit calls for each flit with FpImpl 1: the sums that its adders would give.
#include <svdpi.h>

#include <cstdint>
#include <cstring>

#include "runtime/kernels/float16_internal.hpp"

extern "C" void mt_dpi_add(int dtype, const svBitVecVal* a, const svBitVecVal* b, svBitVecVal* r);

namespace {

/// fp32 behind the interface of the 16-bit types.
struct Single {
  std::uint32_t bits;
  [[nodiscard]] float to_float() const { return __builtin_bit_cast(float, bits); }
  [[nodiscard]] static Single from_float(float value) {
    return Single{__builtin_bit_cast(std::uint32_t, value)};
  }
};

/// a + b. A compiler may swap the operands, and other processors have other NaNs: so these are
/// made here.
float sum(float a, float b) {
  constexpr std::uint32_t quiet = 0x00400000;
  std::uint32_t bits = __builtin_bit_cast(std::uint32_t, a + b);
  bits = a + b != a + b ? 0xffc00000 : bits;  // what follows leaves this for inf - inf only
  bits = b != b ? __builtin_bit_cast(std::uint32_t, b) | quiet : bits;
  bits = a != a ? __builtin_bit_cast(std::uint32_t, a) | quiet : bits;
  return __builtin_bit_cast(float, bits);
}

template <typename T>
void add(const svBitVecVal* a, const svBitVecVal* b, svBitVecVal* r) {
  constexpr std::size_t lanes = 16 / sizeof(T);
  T x[lanes], y[lanes];
  std::memcpy(x, a, sizeof x);
  std::memcpy(y, b, sizeof y);
  for (std::size_t i = 0; i < lanes; ++i) {
    x[i] = T::from_float(sum(x[i].to_float(), y[i].to_float()));
  }
  std::memcpy(r, x, sizeof x);
}

}  // namespace

void mt_dpi_add(int dtype, const svBitVecVal* a, const svBitVecVal* b, svBitVecVal* r) {
  switch (dtype) {
    case 0:
      for (int i = 0; i < 4; ++i) r[i] = a[i] + b[i];
      break;
    case 1:
      return add<Single>(a, b, r);
    case 2:
      return add<multitree::runtime::Bfloat>(a, b, r);
    default:
      return add<multitree::runtime::Half>(a, b, r);
  }
}
