// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bfloat16 as the kernels use it, where the toolkit's header is not there.
#pragma once

#include <cstdint>

#include "runtime/kernels/float16_internal.hpp"

struct __nv_bfloat16 {
  multitree::runtime::Bfloat bits;
};
inline float __bfloat162float(__nv_bfloat16 value) { return value.bits.to_float(); }
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  return {multitree::runtime::Bfloat::from_float(value)};
}
