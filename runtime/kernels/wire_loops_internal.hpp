// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floats to what travels and back: one source, compiled for each instruction set by the file that
/// includes it, as plain loops that a compiler makes vectors of. Nothing here may have external
/// linkage (loops_internal.hpp says why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/float16_internal.hpp"
#include "runtime/kernels/kernels_internal.hpp"

namespace multitree::runtime::kernels {
namespace {

/// Elements at a time: local, so that alignment does not matter and nothing overlaps.
constexpr std::size_t kWireBlock = 64;
static_assert(kWireBlock == kScaledBlock);

template <typename Format>
void encode_sixteen(void* to, const float* from, std::size_t count) {
  float in[kWireBlock];
  Format out[kWireBlock];
  for (std::size_t at = 0; at < count; at += kWireBlock) {
    const std::size_t length = count - at < kWireBlock ? count - at : kWireBlock;
    __builtin_memcpy(in, from + at, length * sizeof(float));
    for (std::size_t i = length; i < kWireBlock; ++i) in[i] = 0;
    for (std::size_t i = 0; i < kWireBlock; ++i) out[i] = Format::from_float(in[i]);
    __builtin_memcpy(static_cast<char*>(to) + at * sizeof(Format), out, length * sizeof(Format));
  }
}

template <typename Format>
void decode_sixteen(float* to, const void* from, std::size_t count) {
  Format in[kWireBlock] = {};
  float out[kWireBlock];
  for (std::size_t at = 0; at < count; at += kWireBlock) {
    const std::size_t length = count - at < kWireBlock ? count - at : kWireBlock;
    __builtin_memcpy(in, static_cast<const char*>(from) + at * sizeof(Format),
                     length * sizeof(Format));
    for (std::size_t i = 0; i < kWireBlock; ++i) out[i] = in[i].to_float();
    __builtin_memcpy(to + at, out, length * sizeof(float));
  }
}

/// The scale of a block with something in it that is not finite.
constexpr std::uint8_t kNotFinite = 255;

/// The bits of the largest of a block, without their sign.
inline std::int32_t largest_of(const float (&in)[kWireBlock]) {
  std::uint32_t bits[kWireBlock];
  __builtin_memcpy(bits, in, sizeof in);
  std::int32_t most = 0;
  for (std::size_t i = 0; i < kWireBlock; ++i) {
    const auto magnitude = static_cast<std::int32_t>(bits[i] & 0x7fffffffU);
    most = most < magnitude ? magnitude : most;
  }
  return most;
}

/// What makes numbers of a block with this scale; 0 where one is not finite.
inline float inverse_of(std::int32_t scale, bool finite) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(finite ? 254 - scale : 0) << 23);
}

/// Whole numbers.
struct Whole8 {
  using Byte = std::int8_t;
  /// Scales are powers of two, 2^(scale - 127), the least with which no number is above 127: what
  /// was decoded is encoded as the same bytes again, so that it may pass any number of hops.
  static std::uint8_t encode_block(const float (&in)[kWireBlock], Byte (&out)[kWireBlock]) {
    const std::int32_t most = largest_of(in);
    const bool finite = most < 0x7f800000;
    // 127 is 1.984375 * 2^6: the mantissa above which the next power is needed.
    const std::int32_t wanted = ((most + 0x1ffff) >> 23) - 6;
    const std::int32_t scale = wanted < 1 ? 1 : wanted;
    const float inverse = inverse_of(scale, finite);
    for (std::size_t i = 0; i < kWireBlock; ++i) {
      // 1.5 * 2^23 leaves no room for fractions: the addition rounds, to nearest even.
      const float rounded = in[i] * inverse + 12582912.0F;
      out[i] = static_cast<std::int8_t>(__builtin_bit_cast(std::uint32_t, rounded) & 0xffU);
    }
    if (finite) return static_cast<std::uint8_t>(scale);
    __builtin_memset(out, 0, sizeof out);
    return kNotFinite;
  }
  static MULTITREE_FLOAT16 float to_float(Byte byte) { return static_cast<float>(byte); }
};

/// Floats of 8 bits with `significant` of them stored, the largest of a block from 2^top on, which
/// leaves them a binade more than any needs.
template <unsigned significant, std::uint32_t bias, std::int32_t top>
struct Float8 {
  using Byte = std::uint8_t;
  static constexpr unsigned kShift = 23 - significant;

  /// As with whole numbers. The largest decides after it is rounded: what was decoded has the same
  /// scale.
  static std::uint8_t encode_block(const float (&in)[kWireBlock], Byte (&out)[kWireBlock]) {
    const std::int32_t most = largest_of(in);
    const bool finite = most < 0x7f800000;
    const std::int32_t rounded = most + (1 << (kShift - 1)) - 1 + ((most >> kShift) & 1);
    const std::int32_t wanted = (rounded >> 23) - top;
    const std::int32_t scale = wanted < 1 ? 1 : wanted;
    const float inverse = inverse_of(scale, finite);
    for (std::size_t i = 0; i < kWireBlock; ++i) out[i] = from_float(in[i] * inverse);
    if (finite) return static_cast<std::uint8_t>(scale);
    __builtin_memset(out, 0, sizeof out);
    return kNotFinite;
  }

  static MULTITREE_FLOAT16 Byte from_float(float value) {
    const auto all = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t magnitude = all & 0x7fffffffU;
    // What is added has the last place of the small ones: the addition rounds for us.
    constexpr std::uint32_t kAligned = (127 + 24 - significant - bias) << 23;
    const float aligned =
        __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kAligned);
    const std::uint32_t small = __builtin_bit_cast(std::uint32_t, aligned) - kAligned;
    const std::uint32_t odd = (magnitude >> kShift) & 1U;
    const std::uint32_t normal =
        (magnitude - ((127 - bias) << 23) + (1U << (kShift - 1)) - 1 + odd) >> kShift;
    const std::uint32_t result = magnitude < ((128 - bias) << 23) ? small : normal;
    return static_cast<Byte>(result | (all >> 31 << 7));
  }

  static MULTITREE_FLOAT16 float to_float(Byte byte) {
    const std::uint32_t magnitude = byte & 0x7fU;
    const std::uint32_t normal = (magnitude << kShift) + ((127 - bias) << 23);
    constexpr std::uint32_t kUnit = (128 - significant - bias) << 23;
    const auto small =
        __builtin_bit_cast(std::uint32_t, static_cast<float>(static_cast<std::int32_t>(magnitude)) *
                                              __builtin_bit_cast(float, kUnit));
    const std::uint32_t result = magnitude < (1U << significant) ? small : normal;
    return __builtin_bit_cast(float, result | std::uint32_t{byte} >> 7 << 31);
  }
};
using E4M3 = Float8<3, 7, 7>;
using E5M2 = Float8<2, 15, 14>;

/// A block's scale, then its numbers.
constexpr std::size_t kScaledStride = kWireBlock + 1;

template <typename Format>
void encode_scaled(void* to, const float* from, std::size_t count) {
  auto* bytes = static_cast<std::uint8_t*>(to);
  float in[kWireBlock];
  typename Format::Byte out[kWireBlock];
  for (std::size_t at = 0; at < count; at += kWireBlock, bytes += kScaledStride) {
    const std::size_t length = count - at < kWireBlock ? count - at : kWireBlock;
    __builtin_memcpy(in, from + at, length * sizeof(float));
    for (std::size_t i = length; i < kWireBlock; ++i) in[i] = 0;
    bytes[0] = Format::encode_block(in, out);
    __builtin_memcpy(bytes + 1, out, length);
  }
}

template <typename Format>
void decode_scaled(float* to, const void* from, std::size_t count) {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  typename Format::Byte in[kWireBlock] = {};
  float out[kWireBlock];
  for (std::size_t at = 0; at < count; at += kWireBlock, bytes += kScaledStride) {
    const std::size_t length = count - at < kWireBlock ? count - at : kWireBlock;
    __builtin_memcpy(in, bytes + 1, length);
    const std::uint32_t bits =
        bytes[0] == kNotFinite ? 0x7fc00000U : static_cast<std::uint32_t>(bytes[0]) << 23;
    const auto scale = __builtin_bit_cast(float, bits);
    for (std::size_t i = 0; i < kWireBlock; ++i) out[i] = Format::to_float(in[i]) * scale;
    __builtin_memcpy(to + at, out, length * sizeof(float));
  }
}

constexpr std::array<WireCodec, 5> kWireCodecs{
    WireCodec{&encode_sixteen<Half>, &decode_sixteen<Half>},
    WireCodec{&encode_sixteen<Bfloat>, &decode_sixteen<Bfloat>},
    WireCodec{&encode_scaled<Whole8>, &decode_scaled<Whole8>},
    WireCodec{&encode_scaled<E4M3>, &decode_scaled<E4M3>},
    WireCodec{&encode_scaled<E5M2>, &decode_scaled<E5M2>}};

}  // namespace
}  // namespace multitree::runtime::kernels
