// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The reduction kernels. Device memory bounds them: every input is read once and the result
/// written once, 16 bytes a thread and access, with enough independent loads outstanding to fill
/// the memory's latency.
#pragma once

#include <algorithm>
#include <utility>

#include "runtime/device/cuda/arithmetic.cuh"
#include "runtime/device/cuda/kernels_internal.hpp"
#include "runtime/device/cuda/launch.cuh"
#include "runtime/device/cuda/walk.cuh"

namespace multitree::runtime::device::cuda {

constexpr unsigned kThreads = 256;
constexpr unsigned kVectorBytes = 16;
/// Blocks a multiprocessor: all of its 2048 threads where registers allow. Three fit with 80
/// registers, which the kernels of many inputs need.
constexpr unsigned kBlocks = 8;

/// Pointers of a launch, in the kernel's parameters, which are constant memory.
template <typename T>
struct Inputs {
  const T* of[kMaxInputs];
};

template <typename T>
struct alignas(kVectorBytes) Vector {
  T element[kVectorBytes / sizeof(T)];
};

/// Vectors a thread has under way from one input: 64 bytes, and less where the accumulators are
/// wider than elements and would not fit the registers.
template <typename T>
constexpr unsigned kUnroll = sizeof(T) == 1   ? 1
                             : sizeof(T) == 2 ? 2
                                              : 4;

/// Loads that will not be used again: past the caches that keep things.
template <typename T>
__device__ Vector<T> load_vector(const Vector<T>* from) {
  const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(from));
  return *reinterpret_cast<const Vector<T>*>(&bits);
}

template <typename T, typename F, unsigned kInputs>
__device__ T reduce_element(const Inputs<T>& inputs, std::size_t i) {
  using A = Arithmetic<T>;
  auto value = A::load(inputs.of[0][i]);
#pragma unroll
  for (unsigned k = 1; k < kInputs; ++k) value = F()(value, A::load(inputs.of[k][i]));
  return A::store(value);
}

/// kCount vectors, `stride` apart, from vector `first` on of what starts at element `head`.
template <typename T, typename F, unsigned kInputs, unsigned kCount>
__device__ void reduce_vectors(T* result, const Inputs<T>& inputs, std::size_t head,
                               std::size_t first, std::size_t stride) {
  using A = Arithmetic<T>;
  constexpr unsigned kElements = kVectorBytes / sizeof(T);
  typename A::Value value[kCount][kElements];
#pragma unroll
  for (unsigned k = 0; k < kInputs; ++k) {
    const auto* from = reinterpret_cast<const Vector<T>*>(inputs.of[k] + head) + first;
    Vector<T> loaded[kCount];
#pragma unroll
    for (unsigned u = 0; u < kCount; ++u) loaded[u] = load_vector(from + u * stride);
#pragma unroll
    for (unsigned u = 0; u < kCount; ++u) {
#pragma unroll
      for (unsigned e = 0; e < kElements; ++e) {
        const auto next = A::load(loaded[u].element[e]);
        value[u][e] = k == 0 ? next : F()(value[u][e], next);
      }
    }
  }
  auto* to = reinterpret_cast<Vector<T>*>(result + head) + first;
#pragma unroll
  for (unsigned u = 0; u < kCount; ++u) {
    Vector<T> stored;
#pragma unroll
    for (unsigned e = 0; e < kElements; ++e) stored.element[e] = A::store(value[u][e]);
    __stcs(reinterpret_cast<uint4*>(to + u * stride), *reinterpret_cast<uint4*>(&stored));
  }
}

/// `head`: elements before the first multiple of 16 bytes, the same for all pointers; then
/// `vectors` vectors; then the rest up to `total`.
template <typename T, typename F, unsigned kInputs>
__global__ void __launch_bounds__(kThreads, 3)
    reduce_kernel(T* result, const __grid_constant__ Inputs<T> inputs, std::size_t head,
                  std::size_t vectors, std::size_t total) {
  constexpr unsigned kElements = kVectorBytes / sizeof(T);
  constexpr unsigned kEach = kUnroll<T>;
  const std::size_t thread = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * kThreads;
  // A block's vectors lie side by side: kEach rows of kThreads.
  const std::size_t tile = std::size_t{kThreads} * kEach;
  const std::size_t tiles = vectors / tile;
  for (std::size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    reduce_vectors<T, F, kInputs, kEach>(result, inputs, head, t * tile + threadIdx.x, kThreads);
  }
  for (std::size_t v = tiles * tile + thread; v < vectors; v += threads) {
    reduce_vectors<T, F, kInputs, 1>(result, inputs, head, v, 0);
  }
  const std::size_t tail = head + vectors * kElements;
  const std::size_t loose = head + (total - tail);
  for (std::size_t i = thread; i < loose; i += threads) {
    const std::size_t at = i < head ? i : tail + (i - head);
    result[at] = reduce_element<T, F, kInputs>(inputs, at);
  }
}

/// Enough blocks for the work, at most what runs at once.
inline unsigned blocks_for(std::size_t items, const Launch& launch) {
  const std::size_t wanted = (items + kThreads - 1) / kThreads;
  const std::size_t most = std::size_t{launch.multiprocessors} * kBlocks;
  return static_cast<unsigned>(std::max<std::size_t>(1, std::min(wanted, most)));
}

/// What a launch works out from the pointers.
template <typename T>
struct Shape {
  Inputs<T> inputs{};
  std::size_t head = 0, vectors = 0;
};

template <typename T>
Shape<T> shape_of(const Reduction& r) {
  const auto offset = [](const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % kVectorBytes;
  };
  const std::size_t skew = offset(r.result);
  Shape<T> shape;
  bool congruent = skew % sizeof(T) == 0;
  for (std::uint32_t k = 0; k < r.input_count; ++k) {
    shape.inputs.of[k] = static_cast<const T*>(r.inputs[k]);
    congruent = congruent && offset(r.inputs[k]) == skew;
  }
  // Pointers that are not equally far from a multiple of 16 are read element by element.
  const std::size_t head = congruent ? (kVectorBytes - skew) % kVectorBytes / sizeof(T) : r.count;
  shape.head = std::min<std::size_t>(head, r.count);
  shape.vectors = (r.count - shape.head) / (kVectorBytes / sizeof(T));
  return shape;
}

template <typename T, typename F, unsigned kInputs>
cudaError_t launch_inputs(const Reduction& r, const Launch& launch) {
  const Shape<T> shape = shape_of<T>(r);
  const std::size_t loose = r.count - shape.vectors * (kVectorBytes / sizeof(T));
  const unsigned blocks = blocks_for(std::max(shape.vectors, loose), launch);
  return cuda::launch(reduce_kernel<T, F, kInputs>, blocks, kThreads, launch.stream,
                      static_cast<T*>(r.result), shape.inputs, shape.head, shape.vectors, r.count);
}

template <typename T, typename F, unsigned... kMore>
constexpr auto launches_by_inputs(std::integer_sequence<unsigned, kMore...>) {
  return std::array<ReduceLauncher, sizeof...(kMore)>{&launch_inputs<T, F, kMore + 2>...};
}

template <typename T, typename F>
cudaError_t launch_reduce(const Reduction& r, const Launch& launch) {
  static constexpr auto kLaunches =
      launches_by_inputs<T, F>(std::make_integer_sequence<unsigned, kMaxInputs - 1>());
  return kLaunches[r.input_count - 2](r, launch);
}

/// As runtime/kernels/reduce.cpp: integers divide as 64 bits.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    divide_kernel(T* data, std::size_t count, std::uint32_t ranks) {
  using A = Arithmetic<T>;
  using Value = typename A::Value;
  using Wide = std::conditional_t<std::is_integral_v<Value>, std::int64_t, Value>;
  const auto divisor = static_cast<Wide>(ranks);
  const std::size_t threads = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += threads) {
    data[i] = A::store(static_cast<Value>(static_cast<Wide>(A::load(data[i])) / divisor));
  }
}

template <typename T>
cudaError_t launch_divide(void* data, std::size_t count, std::uint32_t ranks,
                          const Launch& launch) {
  return cuda::launch(divide_kernel<T>, blocks_for(count, launch), kThreads, launch.stream,
                      static_cast<T*>(data), count, ranks);
}

template <typename T, typename F, unsigned... kMore>
cudaError_t load_by_inputs(std::integer_sequence<unsigned, kMore...>) {
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaSuccess;
  ((error = error != cudaSuccess
                ? error
                : cudaFuncGetAttributes(&attributes, reduce_kernel<T, F, kMore + 2>)),
   ...);
  return error;
}

template <typename T, typename... F>
cudaError_t load_kernels() {
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, divide_kernel<T>);
  ((error = error != cudaSuccess
                ? error
                : load_by_inputs<T, F>(std::make_integer_sequence<unsigned, kMaxInputs - 1>())),
   ...);
  ((error = error != cudaSuccess ? error : cudaFuncGetAttributes(&attributes, walk_kernel<T, F>)),
   ...);
  return error;
}

template <typename T>
Launchers launchers() {
  return {{&launch_reduce<T, Add>, &launch_reduce<T, Multiply>, &launch_reduce<T, Minimum>,
           &launch_reduce<T, Maximum>, &launch_reduce<T, Add>},
          {&launch_walk<T, Add>, &launch_walk<T, Multiply>, &launch_walk<T, Minimum>,
           &launch_walk<T, Maximum>, &launch_walk<T, Add>},
          &launch_divide<T>,
          &load_kernels<T, Add, Multiply, Minimum, Maximum>};
}

}  // namespace multitree::runtime::device::cuda
