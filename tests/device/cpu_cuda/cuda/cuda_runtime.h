// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the kernels' sources use of CUDA, on the host: this folder is searched in place of the
/// toolkit's. A launch is a loop over blocks, which has ended when it returns.
#pragma once

#if __has_include(<driver_types.h>)  // what the toolkit's header of half types is about to include
#include <driver_types.h>
#else
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned blocks = 1) : x(blocks) {}
};
enum cudaError_t { cudaSuccess = 0 };
using cudaStream_t = void*;
struct cudaFuncAttributes {};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  cudaStream_t stream = nullptr;
};
#endif

#include "cpu_cuda/block.hpp"

#undef __device__
#undef __global__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#define __device__
#define __global__
#define __shared__ static thread_local  // of the block, whose threads take turns in one thread
#define __launch_bounds__(...)
#define __grid_constant__

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

inline void __syncthreads() {
  const uint3 self = threadIdx;  // others have their turns
  multitree::runtime::test::sync_threads();
  threadIdx = self;
}
template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
template <typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, void (*)(Parameters...)) {
  return cudaSuccess;
}

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  namespace test = multitree::runtime::test;
  for (unsigned block = 0; block < config->gridDim.x; ++block) {
    if (test::only_block && *test::only_block != block) continue;
    test::run_block(config->blockDim.x, [&](unsigned thread) {
      gridDim = config->gridDim;
      blockDim = config->blockDim;
      blockIdx.x = block;
      threadIdx.x = thread;
      kernel(arguments...);
    });
  }
  return cudaSuccess;
}
