// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floating-point instructions of a vector length as functions that keep the order of the operands.
/// Included with kVectorBytes defined, by the file that is compiled for that instruction set.
#pragma once

namespace multitree::runtime::kernels {
namespace {
namespace isa {

typedef float F32 __attribute__((vector_size(kVectorBytes)));
typedef double F64 __attribute__((vector_size(kVectorBytes)));

#if defined(__AVX__)
#define MULTITREE_BINARY(name, Vector, instruction)                          \
  inline __attribute__((always_inline)) Vector name(Vector a, Vector b) {    \
    Vector result;                                                           \
    __asm__("v" instruction " %2, %1, %0" : "=v"(result) : "v"(a), "vm"(b)); \
    return result;                                                           \
  }
#define MULTITREE_STREAM "vmovntps %1, %0"
#else
#define MULTITREE_BINARY(name, Vector, instruction)                       \
  inline __attribute__((always_inline)) Vector name(Vector a, Vector b) { \
    __asm__(instruction " %1, %0" : "+x"(a) : "x"(b));                    \
    return a;                                                             \
  }
#define MULTITREE_STREAM "movntps %1, %0"
#endif

MULTITREE_BINARY(add_ps, F32, "addps")
MULTITREE_BINARY(mul_ps, F32, "mulps")
/// a < b ? a : b and a > b ? a : b; b where one is a NaN, or both are zeros.
MULTITREE_BINARY(min_ps, F32, "minps")
MULTITREE_BINARY(max_ps, F32, "maxps")
MULTITREE_BINARY(add_pd, F64, "addpd")
MULTITREE_BINARY(mul_pd, F64, "mulpd")

inline __attribute__((always_inline)) void stream(char* to, F32 value) {
  __asm__(MULTITREE_STREAM : "=m"(*reinterpret_cast<F32*>(to)) : "v"(value));
}

}  // namespace isa
}  // namespace
}  // namespace multitree::runtime::kernels
