// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Words that other devices and the host read and write, at the scope of the system.
#pragma once

#include <cstdint>

#ifndef __CUDACC__
#include <sched.h>

#include <atomic>
#endif

namespace multitree::runtime::device::cuda {

#ifdef __CUDACC__

/// Counters are read and written by other devices, and only they order what is read and written
/// besides. In PTX, as it has the same words from compute capability 7.0 on.
__device__ inline std::uint64_t load_acquire(const std::uint64_t* counter) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(counter) : "memory");
  return value;
}
__device__ inline void store_release(std::uint64_t* counter, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(counter), "l"(value) : "memory");
}
/// Words that order nothing.
__device__ inline std::uint32_t look_at(const std::uint32_t* word) {
  return *static_cast<const volatile std::uint32_t*>(word);
}
__device__ inline void tell(std::uint32_t* word, std::uint32_t value) {
  *static_cast<volatile std::uint32_t*>(word) = value;
}
/// Between two looks at a counter.
__device__ inline void breathe() {}
/// Looks at a counter between two at the host's word, which is far away.
constexpr unsigned kPatience = 4096;

#else

inline std::uint64_t load_acquire(const std::uint64_t* counter) {
  return std::atomic_ref(*const_cast<std::uint64_t*>(counter)).load(std::memory_order_acquire);
}
inline void store_release(std::uint64_t* counter, std::uint64_t value) {
  std::atomic_ref(*counter).store(value, std::memory_order_release);
}
inline std::uint32_t look_at(const std::uint32_t* word) {
  return std::atomic_ref(*const_cast<std::uint32_t*>(word)).load(std::memory_order_relaxed);
}
inline void tell(std::uint32_t* word, std::uint32_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_relaxed);
}
inline void breathe() { ::sched_yield(); }
constexpr unsigned kPatience = 1;

#endif

}  // namespace multitree::runtime::device::cuda
