// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels of one type.
#include "runtime/device/cuda/kernels.cuh"

namespace multitree::runtime::device::cuda {

Launchers double_launchers() { return launchers<double>(); }

}  // namespace multitree::runtime::device::cuda
