// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels of one type.
#include "runtime/device/cuda/kernels.cuh"

namespace multitree::runtime::device::cuda {

Launchers int64_launchers() { return launchers<std::int64_t>(); }

}  // namespace multitree::runtime::device::cuda
