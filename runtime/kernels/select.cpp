// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which kernels this processor runs.
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <vector>

#include "runtime/kernels/kernels_internal.hpp"

namespace multitree::runtime::kernels {
namespace {

#if defined(__x86_64__)
/// Two features that clang's __builtin_cpu_supports() has no name for. They need of the system what
/// avx2 and avx512f do, which the builtin looks at.
/// \{
bool supports_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

bool supports_avx512fp16() {
  constexpr unsigned kAvx512Fp16Bit = 1U << 23;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAvx512Fp16Bit) != 0;
}
/// \}
#endif

std::vector<const Set*> find_usable() {
  std::vector<const Set*> sets{&kPortable};
#if defined(__x86_64__)
  sets.push_back(&kSse2);
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !supports_f16c()) return sets;
  sets.push_back(&kAvx2);
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return sets;
  }
  sets.push_back(&kAvx512);
  if (supports_avx512fp16() && __builtin_cpu_supports("avx512bf16")) {
    sets.push_back(&kAvx512Fp16);
  }
#endif
  return sets;
}

const std::vector<const Set*>& sets() {
  static const std::vector<const Set*> all = find_usable();
  return all;
}

}  // namespace

const Set& best() {
  static const Set& set = *sets().back();
  return set;
}

std::span<const Set* const> usable() { return sets(); }

}  // namespace multitree::runtime::kernels
