// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels by instruction set: one table each, the best of them chosen at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace multitree::runtime::kernels {

/// Inputs that one pass takes.
inline constexpr std::size_t kMaxInputs = 16;

/// out[i] = in[0][i] op in[1][i] op ... op in[inputs - 1][i], from left to right. `out` may be one
/// of the inputs, but overlap none in part. \pre 1 <= inputs <= kMaxInputs
using Combine = void (*)(void* out, const void* const* in, std::size_t inputs, std::size_t count);
/// data[i] = data[i] / divisor.
using Divide = void (*)(void* data, std::size_t count, std::uint32_t divisor);
/// Copies past the caches: for what this processor will not read soon.
using Stream = void (*)(void* to, const void* from, std::size_t bytes);

/// Elements of a block with a scale in common: of WireType::Int8 and the floats of 8 bits.
inline constexpr std::size_t kScaledBlock = 64;
/// As encode() and decode() in wire.hpp.
struct WireCodec {
  void (*encode)(void* to, const float* from, std::size_t count);
  void (*decode)(float* to, const void* from, std::size_t count);
};

/// Elements of a block with an exponent in common, in sums that are free of order.
inline constexpr std::size_t kExactBlock = 32;
/// As exponents_of(), to_whole() and from_whole() in exact.hpp.
struct ExactCodec {
  void (*exponents)(void* to, const void* from, std::size_t count);
  void (*encode)(void* to, const void* from, const void* exponents, std::size_t count);
  void (*decode)(void* to, const void* from, const void* exponents, std::size_t count);
};
/// By type (half, bfloat16, float, double), by whole numbers (int32, int64; of double always
/// int64), by blocks (each element for itself, blocks).
using ExactCodecs = std::array<std::array<std::array<ExactCodec, 2>, 2>, 4>;

/// By ReduceOp, but for Custom; null where the operator is not for the type.
using CombineRow = std::array<Combine, 12>;

/// The kernels of one instruction set. All sets give the same bits.
struct Set {
  const char* name;
  std::array<CombineRow, 12> combine;  ///< by DataType
  Stream stream;
  std::array<WireCodec, 5> wire;  ///< by WireType, those that round
  ExactCodecs exact;
};

/// The set for this processor.
const Set& best();
/// All that this processor can run, the slowest first; for tests and benchmarks.
std::span<const Set* const> usable();

/// What the sets have in common, and what other processors get.
extern const Set kPortable;
extern const std::array<Divide, 12> kDivide;  ///< by DataType
#if defined(__x86_64__)
extern const Set kSse2, kAvx2, kAvx512;
/// kAvx512 with the processor's own 16-bit floats. \pre the processor has them
extern const Set kAvx512Fp16;
#endif

}  // namespace multitree::runtime::kernels
