// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels of one type.
#include "runtime/device/cuda/kernels.cuh"

namespace multitree::runtime::device::cuda {

Launchers float_launchers() { return launchers<float>(); }

}  // namespace multitree::runtime::device::cuda
