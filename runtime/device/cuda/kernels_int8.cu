// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels of one type.
#include "runtime/device/cuda/kernels.cuh"

namespace multitree::runtime::device::cuda {

Launchers int8_launchers() { return launchers<std::int8_t>(); }

}  // namespace multitree::runtime::device::cuda
