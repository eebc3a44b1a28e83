// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How kernels are put on streams: as functions are called, so that any C++ compiler reads it. The
/// tests run the kernels of these sources on the host (tests/device/cpu_cuda).
#pragma once

#include <cuda_runtime.h>

#include <utility>

namespace multitree::runtime::device::cuda {

template <typename... Parameters, typename... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads,
                   cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

}  // namespace multitree::runtime::device::cuda
