// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which kernels this processor runs.
#include <vector>

#include "runtime/kernels/kernels_internal.hpp"

namespace multitree::runtime::kernels {
namespace {

std::vector<const Set*> find_usable() {
  std::vector<const Set*> sets{&kPortable};
#if defined(__x86_64__)
  sets.push_back(&kSse2);
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("f16c")) return sets;
  sets.push_back(&kAvx2);
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    return sets;
  }
  sets.push_back(&kAvx512);
  if (__builtin_cpu_supports("avx512fp16") && __builtin_cpu_supports("avx512bf16")) {
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
