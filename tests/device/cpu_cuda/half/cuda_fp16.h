// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Half as the kernels use it, where the toolkit's header is not there.
#pragma once

#include <cstdint>

#include "runtime/kernels/float16_internal.hpp"

struct __half {
  multitree::runtime::Half bits;
};
inline float __half2float(__half value) { return value.bits.to_float(); }
inline __half __float2half_rn(float value) { return {multitree::runtime::Half::from_float(value)}; }
