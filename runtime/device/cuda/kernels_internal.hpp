// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Launches of the reduction kernels, a table entry for every type and operator.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/table.hpp"

namespace multitree::runtime::device::cuda {

struct Launch {
  cudaStream_t stream = nullptr;
  std::uint32_t multiprocessors = 1;
};

/// Puts the kernel on the stream. \pre count > 0, 2 <= input_count <= kMaxInputs
using ReduceLauncher = cudaError_t (*)(const Reduction& reduction, const Launch& launch);
using DivideLauncher = cudaError_t (*)(void* data, std::size_t count, std::uint32_t ranks,
                                       const Launch& launch);

/// Puts a collective's kernel on the stream. \pre walk.blocks run at the same time
using WalkLauncher = cudaError_t (*)(const Walk& walk, cudaStream_t stream);

struct Launchers {
  std::array<ReduceLauncher, kOps> reduce{};  ///< by ReduceOp
  std::array<WalkLauncher, kOps> walk{};      ///< by ReduceOp
  DivideLauncher divide = nullptr;
  cudaError_t (*load)() = nullptr;  ///< all of them, into the current device
};

// One file each, so that they compile beside each other.
Launchers int8_launchers();
Launchers uint8_launchers();
Launchers int32_launchers();
Launchers int64_launchers();
Launchers half_launchers();
Launchers bfloat_launchers();
Launchers float_launchers();
Launchers double_launchers();

}  // namespace multitree::runtime::device::cuda
