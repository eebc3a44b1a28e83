// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From forms of travelling to the kernels of this processor.
#include "runtime/kernels/wire.hpp"

#include <algorithm>
#include <array>

#include "runtime/kernels/kernels_internal.hpp"
#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime {
namespace {

/// Floats at a time, whole blocks that stay in the first cache.
constexpr std::size_t kPiece = 16 * kernels::kScaledBlock;

/// \pre rounds(wire)
const kernels::WireCodec& codec_of(WireType wire) {
  return kernels::best().wire[static_cast<std::size_t>(wire) - 1];
}

}  // namespace

std::size_t wire_bytes(WireType wire, std::size_t count) {
  switch (wire) {
    case WireType::Float16:
    case WireType::BFloat16:
      return 2 * count;
    case WireType::Int8:
    case WireType::Float8E4M3:
    case WireType::Float8E5M2:
      return count + (count + kernels::kScaledBlock - 1) / kernels::kScaledBlock;
    case WireType::AsIs:
    case WireType::Lossless:
      break;
  }
  return sizeof(float) * count;
}

void encode(WireType wire, void* to, const float* from, std::size_t count) {
  codec_of(wire).encode(to, from, count);
}

void decode(WireType wire, float* to, const void* from, std::size_t count) {
  codec_of(wire).decode(to, from, count);
}

void decode_and_reduce(WireType wire, float* result, const float* first, const void* from,
                       std::size_t count, ReduceOp op, const ReduceFunction* function) {
  std::array<float, kPiece> second{};
  const auto* bytes = static_cast<const std::byte*>(from);
  for (std::size_t at = 0; at < count; at += kPiece, bytes += wire_bytes(wire, kPiece)) {
    const std::size_t length = std::min(kPiece, count - at);
    decode(wire, second.data(), bytes, length);
    reduce(result + at, first + at, second.data(), length, DataType::Float32, op, function);
  }
}

void round_to(WireType wire, float* numbers, std::size_t count) {
  if (!rounds(wire)) return;
  std::array<std::byte, kPiece * sizeof(float)> bytes{};
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t length = std::min(kPiece, count - at);
    encode(wire, bytes.data(), numbers + at, length);
    decode(wire, numbers + at, bytes.data(), length);
  }
}

}  // namespace multitree::runtime
