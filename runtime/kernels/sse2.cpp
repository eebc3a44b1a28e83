// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Kernels for every x86-64.
#include <cstddef>

namespace multitree::runtime::kernels {
namespace {
constexpr std::size_t kVectorBytes = 16;
}
}  // namespace multitree::runtime::kernels

#include "runtime/kernels/isa_internal.hpp"
#include "runtime/kernels/loops_internal.hpp"

namespace multitree::runtime::kernels {

constexpr Set kSse2 = make_set<Sixteen<HalfFormat>, Bfloats>("sse2");

}  // namespace multitree::runtime::kernels
