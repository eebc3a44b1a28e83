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
static_assert(kWireBlock == kInt8Block);

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

/// Scales are powers of two, 2^(scale - 127), the least with which no number is above 127: what was
/// decoded is encoded as the same bytes again, so that it may pass any number of hops.
inline std::uint8_t encode_block(const float (&in)[kWireBlock], std::int8_t (&out)[kWireBlock]) {
  std::uint32_t bits[kWireBlock];
  __builtin_memcpy(bits, in, sizeof in);
  std::int32_t most = 0;
  for (std::size_t i = 0; i < kWireBlock; ++i) {
    const auto magnitude = static_cast<std::int32_t>(bits[i] & 0x7fffffffU);
    most = most < magnitude ? magnitude : most;
  }
  const bool finite = most < 0x7f800000;
  // 127 is 1.984375 * 2^6: the mantissa above which the next power is needed.
  const std::int32_t wanted = ((most + 0x1ffff) >> 23) - 6;
  const std::int32_t scale = wanted < 1 ? 1 : wanted;
  const auto inverse =
      __builtin_bit_cast(float, static_cast<std::uint32_t>(finite ? 254 - scale : 0) << 23);
  for (std::size_t i = 0; i < kWireBlock; ++i) {
    // 1.5 * 2^23 leaves no room for fractions: the addition rounds, to nearest even.
    const float rounded = in[i] * inverse + 12582912.0F;
    out[i] = static_cast<std::int8_t>(__builtin_bit_cast(std::uint32_t, rounded) & 0xffU);
  }
  if (finite) return static_cast<std::uint8_t>(scale);
  __builtin_memset(out, 0, sizeof out);
  return kNotFinite;
}

/// A block's scale, then its numbers.
constexpr std::size_t kInt8Stride = kWireBlock + 1;

void encode_int8(void* to, const float* from, std::size_t count) {
  auto* bytes = static_cast<std::uint8_t*>(to);
  float in[kWireBlock];
  std::int8_t out[kWireBlock];
  for (std::size_t at = 0; at < count; at += kWireBlock, bytes += kInt8Stride) {
    const std::size_t length = count - at < kWireBlock ? count - at : kWireBlock;
    __builtin_memcpy(in, from + at, length * sizeof(float));
    for (std::size_t i = length; i < kWireBlock; ++i) in[i] = 0;
    bytes[0] = encode_block(in, out);
    __builtin_memcpy(bytes + 1, out, length);
  }
}

void decode_int8(float* to, const void* from, std::size_t count) {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  std::int8_t in[kWireBlock] = {};
  float out[kWireBlock];
  for (std::size_t at = 0; at < count; at += kWireBlock, bytes += kInt8Stride) {
    const std::size_t length = count - at < kWireBlock ? count - at : kWireBlock;
    __builtin_memcpy(in, bytes + 1, length);
    const std::uint32_t bits =
        bytes[0] == kNotFinite ? 0x7fc00000U : static_cast<std::uint32_t>(bytes[0]) << 23;
    const auto scale = __builtin_bit_cast(float, bits);
    for (std::size_t i = 0; i < kWireBlock; ++i) out[i] = static_cast<float>(in[i]) * scale;
    __builtin_memcpy(to + at, out, length * sizeof(float));
  }
}

constexpr std::array<WireCodec, 3> kWireCodecs{
    WireCodec{&encode_sixteen<Half>, &decode_sixteen<Half>},
    WireCodec{&encode_sixteen<Bfloat>, &decode_sixteen<Bfloat>},
    WireCodec{&encode_int8, &decode_int8}};

}  // namespace
}  // namespace multitree::runtime::kernels
