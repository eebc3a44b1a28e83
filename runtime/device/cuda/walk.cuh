// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective as one kernel (runtime/device/walk.hpp): what a block does for all of its threads.
#pragma once

#include "runtime/device/cuda/arithmetic.cuh"
#include "runtime/device/cuda/kernels_internal.hpp"
#include "runtime/device/cuda/launch.cuh"
#include "runtime/device/cuda/order.cuh"
#include "runtime/device/walk.hpp"

namespace multitree::runtime::device::cuda {

#ifndef MULTITREE_WALK_THREADS
#define MULTITREE_WALK_THREADS 512
#endif
constexpr unsigned kWalkThreads = MULTITREE_WALK_THREADS;

/// The Machine of a Walker. Thread 0 waits and publishes; barriers of the block carry the order to
/// and from the others.
template <typename T, typename F>
class BlockMachine {
 public:
  __device__ explicit BlockMachine(const std::uint32_t* given_up) : given_up_(given_up) {}

  __device__ std::uint32_t block() const { return blockIdx.x; }

  __device__ bool may_begin() {
    return agree([this] { return look_at(given_up_) == 0; });
  }
  __device__ bool wait(const std::uint64_t* counter, std::uint64_t value) {
    return agree([=, this] { return spin(counter, value); });
  }
  __device__ void publish(std::uint64_t* counter, std::uint64_t value) {
    __syncthreads();
    if (threadIdx.x == 0) store_release(counter, value);
  }

  __device__ void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    move(
        reinterpret_cast<T*>(to), bytes / sizeof(T), from,
        [](const Inputs2& in, std::uint64_t i) { return in.first[i]; }, from);
  }
  __device__ void reduce(std::byte* to, const std::byte* first, const std::byte* second,
                         std::uint64_t bytes) {
    using A = Arithmetic<T>;
    const auto both = [](const Inputs2& in, std::uint64_t i) {
      return A::store(F()(A::load(in.first[i]), A::load(in.second[i])));
    };
    move(reinterpret_cast<T*>(to), bytes / sizeof(T), first, both, second);
  }

  /// As divide_kernel(). What a thread divides another may have written.
  __device__ void divide(std::byte* data, std::uint64_t bytes, std::uint32_t divisor) {
    __syncthreads();
    using A = Arithmetic<T>;
    using Value = typename A::Value;
    using Wide = std::conditional_t<std::is_integral_v<Value>, std::int64_t, Value>;
    const auto by = static_cast<Wide>(divisor);
    move(
        reinterpret_cast<T*>(data), bytes / sizeof(T), data,
        [by](const Inputs2& in, std::uint64_t i) {
          return A::store(static_cast<Value>(static_cast<Wide>(A::load(in.first[i])) / by));
        },
        data);
  }

  /// For the next kernel of the stream.
  __device__ void keep(std::uint64_t* counter, std::uint64_t value) {
    __syncthreads();
    if (threadIdx.x == 0) *counter = value;
    __syncthreads();
  }

  __device__ void mark(std::byte* place, std::uint64_t tag) {
    if (threadIdx.x == 0) *reinterpret_cast<std::uint64_t*>(place) = tag;
  }
  __device__ std::uint64_t marked(const std::byte* place) {
    return *reinterpret_cast<const volatile std::uint64_t*>(place);
  }
  __device__ void report(std::uint32_t* word, std::uint32_t value) {
    if (threadIdx.x == 0) tell(word, value);
  }

 private:
  struct alignas(kWalkVector) Vector {
    T element[kWalkVector / sizeof(T)];
  };
  struct Inputs2 {
    const T* first;
    const T* second;
  };

  /// What thread 0 finds, for all.
  template <typename Question>
  __device__ static bool agree(Question question) {
    __shared__ bool answer;
    if (threadIdx.x == 0) answer = question();
    __syncthreads();
    const bool result = answer;
    __syncthreads();
    return result;
  }

  __device__ bool spin(const std::uint64_t* counter, std::uint64_t value) {
    for (unsigned round = 1; load_acquire(counter) < value; ++round) {
      breathe();
      if (round % kPatience == 0 && look_at(given_up_) != 0) return false;
    }
    return true;
  }

  /// Vectors that a thread has on their way from memory at a time: one would leave the links idle.
  static constexpr unsigned kAtOnce = 4;

  /// Vectors v, v + blockDim.x, ... behind the first `head` elements: all are read before one is
  /// written.
  template <unsigned Count, typename Function>
  __device__ static void move_vectors(T* to, const Inputs2& inputs, std::uint64_t head,
                                      std::uint64_t v, Function f) {
    constexpr unsigned kElements = kWalkVector / sizeof(T);
    Vector a[Count], b[Count];
#pragma unroll
    for (unsigned c = 0; c < Count; ++c) {
      const std::uint64_t at = head + (v + c * blockDim.x) * kElements;
      a[c] = *reinterpret_cast<const Vector*>(inputs.first + at);
      b[c] = *reinterpret_cast<const Vector*>(inputs.second + at);
    }
#pragma unroll
    for (unsigned c = 0; c < Count; ++c) {
      const Inputs2 loaded{a[c].element, b[c].element};
      Vector result;
#pragma unroll
      for (unsigned e = 0; e < kElements; ++e) result.element[e] = f(loaded, e);
      *reinterpret_cast<Vector*>(to + head + (v + c * blockDim.x) * kElements) = result;
    }
  }

  /// to[i] = f(first, second, i): 16 bytes a thread where all pointers allow it, which they do
  /// behind the first `head` elements if they are equally far from a multiple of that.
  template <typename Function>
  __device__ void move(T* to, std::uint64_t count, const std::byte* first, Function f,
                       const std::byte* second) {
    const Inputs2 inputs{reinterpret_cast<const T*>(first), reinterpret_cast<const T*>(second)};
    const auto offset = [](const void* p) {
      return reinterpret_cast<std::uintptr_t>(p) % kWalkVector;
    };
    constexpr std::uint64_t kElements = kWalkVector / sizeof(T);
    const bool congruent = offset(to) == offset(first) && offset(to) == offset(second);
    std::uint64_t head = congruent ? (kWalkVector - offset(to)) % kWalkVector / sizeof(T) : count;
    if (head > count) head = count;
    const std::uint64_t vectors = (count - head) / kElements;
    std::uint64_t v = threadIdx.x;
    for (; v + (kAtOnce - 1) * blockDim.x < vectors; v += kAtOnce * blockDim.x) {
      move_vectors<kAtOnce>(to, inputs, head, v, f);
    }
    for (; v < vectors; v += blockDim.x) move_vectors<1>(to, inputs, head, v, f);
    const std::uint64_t tail = head + vectors * kElements;
    const std::uint64_t loose = head + (count - tail);
    for (std::uint64_t i = threadIdx.x; i < loose; i += blockDim.x) {
      const std::uint64_t at = i < head ? i : tail + (i - head);
      to[at] = f(inputs, at);
    }
  }

  const std::uint32_t* given_up_;
};

template <typename T, typename F>
__global__ void __launch_bounds__(kWalkThreads) walk_kernel(const __grid_constant__ Walk walk) {
  BlockMachine<T, F> machine(walk.given_up);
  Walker<BlockMachine<T, F>>(machine, walk).run();
}

template <typename T, typename F>
cudaError_t launch_walk(const Walk& walk, cudaStream_t stream) {
  return launch(walk_kernel<T, F>, walk.blocks, kWalkThreads, stream, walk);
}

}  // namespace multitree::runtime::device::cuda
