/* SPDX-License-Identifier: BSD-3-Clause */
/* As much of CUDA as nccl-tests asks for, on host memory: kernels run at once in the caller's
 * thread as one thread of one block; a stream is the non-blocking collectives that were put on it,
 * each started when the one before is complete. */
#ifndef MULTITREE_NCCL_TESTS_CUDA_RUNTIME_H
#define MULTITREE_NCCL_TESTS_CUDA_RUNTIME_H

#include <multitree.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

using std::max;
using std::min;

#define CUDART_VERSION 12000
#define __host__
#define __device__
#define __global__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline constexpr dim3 blockIdx{0, 0, 0}, threadIdx{0, 0, 0}, gridDim{}, blockDim{};

enum cudaError_t {
  cudaSuccess,
  cudaErrorInvalidValue,
  cudaErrorNotReady,
  cudaErrorMemoryAllocation,
  cudaErrorUnknown
};
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorUnknown ? mtGetLastError(nullptr) : "error of host memory";
}

namespace host_memory {

/* Groups of this thread: requests of an open one cannot be waited for. */
inline thread_local int depth = 0;
inline thread_local std::uint64_t group = 1;

struct Stream {
  struct Started {
    mtRequest_t request;
    std::uint64_t group;  // 0: none
  };
  std::vector<Started> requests;

  [[nodiscard]] bool open(const Started& one) const { return depth > 0 && one.group == group; }

  /* All that are not of an open group are complete; `wait`: makes it so. */
  cudaError_t complete(bool wait) {
    while (!requests.empty() && !open(requests.front())) {
      Started& first = requests.front();
      int done = 1;
      const mtResult_t result =
          wait ? mtRequestWait(first.request) : mtRequestTest(first.request, &done);
      if (result == mtSuccess && done == 0) return cudaErrorNotReady;
      const mtResult_t freed = mtRequestFree(&first.request);
      requests.erase(requests.begin());
      if (result != mtSuccess || freed != mtSuccess) return cudaErrorUnknown;
    }
    return cudaSuccess;
  }
};

inline Stream& null_stream() {
  static thread_local Stream stream;
  return stream;
}
inline Stream& of(Stream* stream) { return stream == nullptr ? null_stream() : *stream; }

/* Puts a collective on a stream: `start(&request)` starts it, when what is before it is complete.
 */
template <typename Start>
mtResult_t put(Stream* on, const Start& start) {
  Stream& stream = of(on);
  if (stream.complete(true) != cudaSuccess) return mtInternalError;
  mtRequest_t request = nullptr;
  const mtResult_t result = start(&request);
  if (request != nullptr) stream.requests.push_back({request, depth > 0 ? group : 0});
  return result;
}

struct None {};
using Instant = std::chrono::steady_clock::time_point;

/* The kernels of verifiable.cu by the number of their arguments. They are called through a pointer
 * of another type, with arguments that are passed alike; the operator is passed as what it is. */
template <typename Op>
void call(const void* kernel, void* (&args)[7], const Op& op) {
  using Kernel = void (*)(void*, std::intptr_t, Op, int, int, std::uint64_t, std::intptr_t);
  ((Kernel)kernel)(*(void**)args[0], *(std::intptr_t*)args[1], op, *(int*)args[3], *(int*)args[4],
                   *(std::uint64_t*)args[5], *(std::intptr_t*)args[6]);
}
template <typename Op>
void call(const void* kernel, void* (&args)[6], const Op& op) {
  using Kernel = void (*)(void*, std::intptr_t, Op, int, std::uint64_t, std::intptr_t);
  ((Kernel)kernel)(*(void**)args[0], *(std::intptr_t*)args[1], op, *(int*)args[3],
                   *(std::uint64_t*)args[4], *(std::intptr_t*)args[5]);
}
inline void call(const void* kernel, void* (&args)[5], None) {
  using Kernel = void (*)(const void*, const void*, std::intptr_t, unsigned, std::int64_t*);
  ((Kernel)kernel)(*(void**)args[0], *(void**)args[1], *(std::intptr_t*)args[2],
                   *(unsigned*)args[3], *(std::int64_t**)args[4]);
}
template <typename Op>
void call(const void* kernel, void* (&args)[8], const Op& op) {
  using Kernel = void (*)(const void*, std::intptr_t, Op, int, std::uint64_t, std::intptr_t,
                          unsigned, std::int64_t*);
  ((Kernel)kernel)(*(void**)args[0], *(std::intptr_t*)args[1], op, *(int*)args[3],
                   *(std::uint64_t*)args[4], *(std::intptr_t*)args[5], *(unsigned*)args[6],
                   *(std::int64_t**)args[7]);
}

template <std::size_t kArgs, typename Op>
cudaError_t launch(const void* kernel, void* (&args)[kArgs], const Op& op, Stream* on) {
  const cudaError_t before = of(on).complete(true);
  if (before == cudaSuccess) call(kernel, args, op);
  return before;
}

}  // namespace host_memory

/* What `op` is where no operator of that name is in scope. */
inline constexpr host_memory::None op{};
#define cudaLaunchKernel(kernel, grid, block, args, shared, stream) \
  host_memory::launch(kernel, args, op, stream)

/* The one instruction of CUDA that verifiable.cu writes out. */
asm(".ifndef host_memory_red\n.set host_memory_red, 1\n"
    ".macro red.global.add.u64 where, what\n"
    ".intel_syntax prefix\n lock add qword ptr \\where, \\what\n .att_syntax "
    "prefix\n.endm\n.endif");

using cudaStream_t = host_memory::Stream*;
using cudaEvent_t = host_memory::Instant*;
using cudaGraph_t = void*;
using cudaGraphExec_t = void*;
inline constexpr cudaStream_t cudaStreamDefault = nullptr;
enum { cudaStreamNonBlocking, cudaHostAllocMapped };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor };
enum { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal };

struct cudaDeviceProp {
  int pciDomainID = 0, pciBusID = 0, pciDeviceID = 0;
  std::size_t totalGlobalMem = std::size_t{1} << 30;
  char name[32] = "host memory";
};

inline cudaError_t cudaGetDeviceCount(int* count) { return *count = 64, cudaSuccess; }
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  return *properties = {}, cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, int, int) { return *value = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return host_memory::null_stream().complete(true); }
inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return *free = *total = std::size_t{1} << 30, cudaSuccess;
}

template <typename T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  *memory = static_cast<T*>(std::calloc(std::max<std::size_t>(bytes, 1), 1));
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, int) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFree(void* memory) { return std::free(memory), cudaSuccess; }
inline cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
inline cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  return std::memset(memory, value, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return std::memmove(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t on) {
  const cudaError_t before = host_memory::of(on).complete(true);
  return before == cudaSuccess ? cudaMemcpy(to, from, bytes, kind) : before;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, int) {
  return *stream = new host_memory::Stream, cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return host_memory::of(stream).complete(false);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return *event = new host_memory::Instant, cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t on) {
  const cudaError_t before = host_memory::of(on).complete(true);
  return *event = std::chrono::steady_clock::now(), before;
}
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  return *ms = std::chrono::duration<float, std::milli>(*to - *from).count(), cudaSuccess;
}

/* Graphs are refused: option -G. */
template <typename... Any>
cudaError_t no_graphs(Any...) {
  return cudaErrorInvalidValue;
}
#define cudaStreamBeginCapture no_graphs
#define cudaStreamEndCapture no_graphs
#define cudaGraphInstantiate no_graphs
#define cudaGraphLaunch no_graphs
#define cudaGraphExecDestroy no_graphs
#define cudaGraphDestroy no_graphs

#endif
