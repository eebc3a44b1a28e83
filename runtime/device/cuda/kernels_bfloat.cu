// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels of one type.
#include "runtime/device/cuda/kernels.cuh"

namespace multitree::runtime::device::cuda {

Launchers bfloat_launchers() { return launchers<__nv_bfloat16>(); }

}  // namespace multitree::runtime::device::cuda
