// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact sums from their definition (runtime/kernels/exact.hpp), by another arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "runtime/kernels/data_type.hpp"
#include "runtime/kernels/float16_internal.hpp"

namespace multitree::runtime::test {

inline constexpr DataType kFloats[] = {DataType::Float16, DataType::BFloat16, DataType::Float32,
                                       DataType::Float64};
inline constexpr Summing kExact[] = {Summing::Elements, Summing::Blocks};
inline constexpr std::size_t kExactBlock = 32;

/// A bit more than a float, and as wide: 64 bits and 15 of exponent.
static_assert(std::numeric_limits<long double>::digits >= 64);

/// Reads and writes elements of the floating types.
class ExactReference {
 public:
  explicit ExactReference(DataType type) : type_(type) {}

  [[nodiscard]] long double get(const std::byte* at) const {
    switch (type_) {
      case DataType::Float16:
        return load<Half>(at).to_float();
      case DataType::BFloat16:
        return load<Bfloat>(at).to_float();
      case DataType::Float32:
        return load<float>(at);
      default:
        return load<double>(at);
    }
  }
  /// Rounded as exact.hpp says.
  void put(std::byte* at, long double value) const {
    const auto single = static_cast<float>(value);
    switch (type_) {
      case DataType::Float16:
        return store(at, Half::from_float(single));
      case DataType::BFloat16:
        return store(at, Bfloat::from_float(single));
      case DataType::Float32:
        return store(at, single);
      default:
        return store(at, static_cast<double>(value));
    }
  }
  /// The power of two that is the last place of numbers like `value`, as they are computed with.
  [[nodiscard]] int unit(long double value) const {
    const bool wide = type_ == DataType::Float64;
    const int digits = wide ? 53 : 24, least = wide ? -1074 : -149;
    return value == 0 ? least : std::max(least, std::ilogb(value) - digits + 1);
  }

 private:
  template <typename T>
  static T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  template <typename T>
  static void store(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
  }
  DataType type_;
};

using Bytes = std::vector<std::byte>;

/// What the inputs of all ranks add up to, from the definition. \pre all are finite
inline Bytes sum_by_definition(const std::vector<Bytes>& inputs, DataType type, Summing summing) {
  const ExactReference format(type);
  const std::size_t width = size_of(type), count = inputs[0].size() / width;
  const std::size_t block = summing == Summing::Blocks ? kExactBlock : 1;
  Bytes sums(inputs[0].size());
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t end = std::min(count, first + block);
    long double most = 0;
    for (const Bytes& input : inputs) {
      for (std::size_t i = first; i < end; ++i) {
        most = std::max(most, std::fabs(format.get(input.data() + i * width)));
      }
    }
    const int unit = format.unit(most);
    for (std::size_t i = first; i < end; ++i) {
      std::int64_t sum = 0;
      for (const Bytes& input : inputs) {
        sum += std::llrint(std::ldexp(format.get(input.data() + i * width), -unit));
      }
      format.put(sums.data() + i * width, std::ldexp(static_cast<long double>(sum), unit));
    }
  }
  return sums;
}

/// Numbers of many sizes, some of them 0 or subnormal.
inline Bytes mixed_input(std::uint32_t rank, DataType type, std::size_t count, int spread) {
  std::mt19937_64 random(rank * 1000 + count + static_cast<std::size_t>(type));
  const ExactReference format(type);
  Bytes bytes(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    const auto mantissa = static_cast<long double>(static_cast<std::int64_t>(random()));
    const int power = static_cast<int>(random() % static_cast<std::uint64_t>(spread)) - spread / 2;
    long double value = std::ldexp(mantissa, power - 63);
    if (random() % 16 == 0) value = std::ldexp(value, type == DataType::Float64 ? -1060 : -140);
    if (random() % 16 == 0) value = -0.0L;
    format.put(bytes.data() + i * size_of(type), value);
  }
  return bytes;
}

}  // namespace multitree::runtime::test
