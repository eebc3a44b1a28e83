// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels of one type.
#include "runtime/device/cuda/kernels.cuh"

namespace multitree::runtime::device::cuda {

Launchers uint8_launchers() { return launchers<std::uint8_t>(); }

}  // namespace multitree::runtime::device::cuda
