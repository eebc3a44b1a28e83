// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A number is finite unless all bits of its exponent are set: no arithmetic, so that no option of
/// the compiler about NaNs matters.
#include "runtime/kernels/finite.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace multitree::runtime {
namespace {

/// Of a type, as a whole number of as many bits.
struct Parts {
  std::uint64_t exponent = 0, mantissa = 0, sign = 0;
};

Parts parts_of(DataType type) {
  switch (type) {
    case DataType::Float16:
      return {0x7c00, 0x03ff, 0x8000};
    case DataType::BFloat16:
      return {0x7f80, 0x007f, 0x8000};
    case DataType::Float32:
      return {0x7f80'0000, 0x007f'ffff, 0x8000'0000};
    case DataType::Float64:
      return {0x7ff0'0000'0000'0000, 0x000f'ffff'ffff'ffff, 0x8000'0000'0000'0000};
    default:
      return {};
  }
}

/// Elements that are looked at without asking after each: long enough to be one vector loop, and
/// short enough to be in the cache when one is searched again.
constexpr std::size_t kBlock = 2048;

template <typename Bits>
Bits at(const std::byte* data, std::size_t element) {
  Bits bits{};
  std::memcpy(&bits, data + element * sizeof bits, sizeof bits);
  return bits;
}

template <typename Bits>
bool all_finite(const std::byte* data, std::size_t count, Bits exponent) {
  Bits found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    found |= static_cast<Bits>((at<Bits>(data, i) & exponent) == exponent ? 1 : 0);
  }
  return found == 0;
}

template <typename Bits>
std::size_t first(const std::byte* data, std::size_t count, Bits exponent) {
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t block = std::min(kBlock, count - begin);
    if (all_finite<Bits>(data + begin * sizeof(Bits), block, exponent)) continue;
    std::size_t i = begin;
    while ((at<Bits>(data, i) & exponent) != exponent) ++i;
    return i;
  }
  return count;
}

}  // namespace

std::size_t first_not_finite(const void* data, std::size_t count, DataType type) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  const std::uint64_t exponent = parts_of(type).exponent;
  if (exponent == 0) return count;
  switch (size_of(type)) {
    case 2:
      return first<std::uint16_t>(bytes, count, static_cast<std::uint16_t>(exponent));
    case 4:
      return first<std::uint32_t>(bytes, count, static_cast<std::uint32_t>(exponent));
    default:
      return first<std::uint64_t>(bytes, count, exponent);
  }
}

std::string_view name_of_not_finite(const void* data, std::size_t at, DataType type) {
  const Parts parts = parts_of(type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::byte*>(data) + at * size_of(type), size_of(type));
  if ((bits & parts.mantissa) != 0) return "nan";
  return (bits & parts.sign) != 0 ? "-inf" : "inf";
}

}  // namespace multitree::runtime
