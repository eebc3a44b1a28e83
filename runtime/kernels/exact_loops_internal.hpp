// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floats to whole numbers and back, for sums that do not depend on their order: one source,
/// compiled for each instruction set by the file that includes it, as plain loops that a compiler
/// makes vectors of. Nothing here may have external linkage (loops_internal.hpp says why).
/// exact.hpp has the definition.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/float16_internal.hpp"
#include "runtime/kernels/kernels_internal.hpp"

namespace multitree::runtime::kernels {
namespace {

/// What is computed as float: 24 significant bits, exponents of 8 bits.
template <typename Element>
struct ExactSingle {
  using Stored = Element;
  using Value = float;
  using Bits = std::uint32_t;
  using Exponent = std::uint8_t;
  static constexpr unsigned kMantissa = 23;
  static constexpr Bits kNotFinite = 255;
  static MULTITREE_FLOAT16 float load(Element element) {
    if constexpr (sizeof(Element) == sizeof(float)) {
      return element;
    } else {
      return element.to_float();
    }
  }
  static MULTITREE_FLOAT16 Element store(float value) {
    if constexpr (sizeof(Element) == sizeof(float)) {
      return value;
    } else {
      return Element::from_float(value);
    }
  }
  /// 2^power, of any power that this is asked for.
  static MULTITREE_FLOAT16 double power_of_two(std::int64_t power) {
    return __builtin_bit_cast(double, (1023 + power) << 52);
  }
  /// value / unit, rounded to nearest even: the addition leaves no room for fractions.
  template <typename Whole>
  static MULTITREE_FLOAT16 Whole whole(float value, std::int64_t unit) {
    constexpr double kRounding = 0x1.8p52;
    const double rounded = static_cast<double>(value) * power_of_two(-unit) + kRounding;
    return static_cast<Whole>(__builtin_bit_cast(std::int64_t, rounded) -
                              __builtin_bit_cast(std::int64_t, kRounding));
  }
  template <typename Whole>
  static MULTITREE_FLOAT16 float value(Whole whole, std::int64_t unit) {
    return static_cast<float>(static_cast<double>(whole) * power_of_two(unit));
  }
};

struct ExactDouble {
  using Stored = double;
  using Value = double;
  using Bits = std::uint64_t;
  using Exponent = std::uint16_t;
  static constexpr unsigned kMantissa = 52;
  static constexpr Bits kNotFinite = 2047;
  static MULTITREE_FLOAT16 double load(double element) { return element; }
  static MULTITREE_FLOAT16 double store(double value) { return value; }
  /// By a power that may be out of a double's range, in two exact steps.
  static MULTITREE_FLOAT16 double scaled(double value, std::int64_t power) {
    const std::int64_t half = power / 2, other = power - half;
    return value * __builtin_bit_cast(double, (1023 + half) << 52) *
           __builtin_bit_cast(double, (1023 + other) << 52);
  }
  /// What is 2^52 or more has no fraction; below, the addition rounds it away.
  template <typename Whole>
  static MULTITREE_FLOAT16 Whole whole(double value, std::int64_t unit) {
    const double exact = scaled(value, -unit);
    const double magnitude = exact < 0 ? -exact : exact;
    const double rounded = magnitude < 0x1p52 ? (magnitude + 0x1p52) - 0x1p52 : magnitude;
    const auto number = static_cast<Whole>(rounded < 0x1p54 ? rounded : 0);  // also of a NaN
    return exact < 0 ? -number : number;
  }
  template <typename Whole>
  static MULTITREE_FLOAT16 double value(Whole whole, std::int64_t unit) {
    return scaled(static_cast<double>(whole), unit);
  }
};

template <typename Format, typename Whole, bool kBlocks>
struct Exact {
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;
  using Bits = typename Format::Bits;
  using Exponent = typename Format::Exponent;
  static constexpr Bits kMagnitude = ~Bits{0} >> 1;
  static constexpr Bits kInfinity = Format::kNotFinite << Format::kMantissa;
  /// How often an element is not finite is counted in fields of this length.
  static constexpr unsigned kField = sizeof(Whole) == 4 ? 8 : 20;
  static constexpr Whole kCount = (Whole{1} << kField) - 1;

  static MULTITREE_FLOAT16 Bits magnitude_of(Value value) {
    return __builtin_bit_cast(Bits, value) & kMagnitude;
  }
  /// Of the last place of numbers with this exponent, as a power of two.
  static MULTITREE_FLOAT16 std::int64_t unit_of(Exponent exponent) {
    const std::int64_t field = exponent == 0 ? 1 : exponent;
    return field - static_cast<std::int64_t>(Format::kNotFinite / 2) - Format::kMantissa;
  }
  static MULTITREE_FLOAT16 Exponent exponent_of(std::size_t i, const Exponent* exponents) {
    return kBlocks ? exponents[0] : exponents[i];
  }

  static std::size_t load(Value (&values)[kExactBlock], const void* from, std::size_t at,
                          std::size_t count) {
    const std::size_t length = count - at < kExactBlock ? count - at : kExactBlock;
    Stored stored[kExactBlock] = {};
    __builtin_memcpy(stored, static_cast<const char*>(from) + at * sizeof(Stored),
                     length * sizeof(Stored));
    for (std::size_t i = 0; i < kExactBlock; ++i) values[i] = Format::load(stored[i]);
    return length;
  }

  static void exponents(void* to, const void* from, std::size_t count) {
    char* out = static_cast<char*>(to);
    for (std::size_t at = 0; at < count; at += kExactBlock) {
      Value values[kExactBlock];
      const std::size_t length = load(values, from, at, count);
      if constexpr (kBlocks) {
        Bits most = 0;
        for (std::size_t i = 0; i < kExactBlock; ++i) {
          const Bits magnitude = magnitude_of(values[i]);
          most = most < magnitude ? magnitude : most;
        }
        const auto exponent = static_cast<Exponent>(most >> Format::kMantissa);
        __builtin_memcpy(out, &exponent, sizeof exponent);
        out += sizeof exponent;
      } else {
        Exponent all[kExactBlock];
        for (std::size_t i = 0; i < kExactBlock; ++i) {
          all[i] = static_cast<Exponent>(magnitude_of(values[i]) >> Format::kMantissa);
        }
        __builtin_memcpy(out, all, length * sizeof(Exponent));
        out += sizeof all;
      }
    }
  }

  /// One in the field that counts what it is; 0 of a finite number.
  static MULTITREE_FLOAT16 Whole kind_of(Value value) {
    const Bits bits = __builtin_bit_cast(Bits, value), magnitude = bits & kMagnitude;
    const Whole infinity = bits == magnitude ? Whole{1} : Whole{1} << kField;
    const Whole special = magnitude > kInfinity ? Whole{1} << (2 * kField) : infinity;
    return magnitude < kInfinity ? Whole{0} : special;
  }
  static MULTITREE_FLOAT16 Value of_kinds(Whole counts) {
    const Whole positive = counts & kCount, negative = counts >> kField & kCount;
    const bool infinite = counts >> (2 * kField) == 0 && (positive == 0) != (negative == 0);
    const Bits sign = positive == 0 ? ~kMagnitude : 0;
    const Bits nan = kInfinity | (Bits{1} << (Format::kMantissa - 1));
    return __builtin_bit_cast(Value, infinite ? kInfinity | sign : nan);
  }

  static std::size_t load_exponents(Exponent (&exponents)[kExactBlock], const void* from,
                                    std::size_t at, std::size_t length) {
    const std::size_t first = kBlocks ? at / kExactBlock : at;
    __builtin_memcpy(exponents, static_cast<const char*>(from) + first * sizeof(Exponent),
                     (kBlocks ? 1 : length) * sizeof(Exponent));
    return length;
  }

  static void encode(void* to, const void* from, const void* exponents, std::size_t count) {
    for (std::size_t at = 0; at < count; at += kExactBlock) {
      Value values[kExactBlock];
      const std::size_t length = load(values, from, at, count);
      Exponent agreed[kExactBlock] = {};
      load_exponents(agreed, exponents, at, length);
      Whole wholes[kExactBlock];
      for (std::size_t i = 0; i < kExactBlock; ++i) {
        const Exponent exponent = exponent_of(i, agreed);
        const Whole whole = Format::template whole<Whole>(values[i], unit_of(exponent));
        wholes[i] = exponent == Format::kNotFinite ? kind_of(values[i]) : whole;
      }
      __builtin_memcpy(static_cast<char*>(to) + at * sizeof(Whole), wholes, length * sizeof(Whole));
    }
  }

  static void decode(void* to, const void* from, const void* exponents, std::size_t count) {
    for (std::size_t at = 0; at < count; at += kExactBlock) {
      const std::size_t length = count - at < kExactBlock ? count - at : kExactBlock;
      Whole wholes[kExactBlock] = {};
      __builtin_memcpy(wholes, static_cast<const char*>(from) + at * sizeof(Whole),
                       length * sizeof(Whole));
      Exponent agreed[kExactBlock] = {};
      load_exponents(agreed, exponents, at, length);
      Stored stored[kExactBlock];
      for (std::size_t i = 0; i < kExactBlock; ++i) {
        const Exponent exponent = exponent_of(i, agreed);
        const Value value = Format::value(wholes[i], unit_of(exponent));
        stored[i] = Format::store(exponent == Format::kNotFinite ? of_kinds(wholes[i]) : value);
      }
      __builtin_memcpy(static_cast<char*>(to) + at * sizeof(Stored), stored,
                       length * sizeof(Stored));
    }
  }
};

template <typename Format, typename Whole, bool kBlocks>
constexpr ExactCodec exact_codec() {
  using E = Exact<Format, Whole, kBlocks>;
  return {&E::exponents, &E::encode, &E::decode};
}
/// By blocks: elements each for themselves, or blocks.
template <typename Format, typename Whole>
constexpr std::array<ExactCodec, 2> exact_codecs() {
  return {exact_codec<Format, Whole, false>(), exact_codec<Format, Whole, true>()};
}

constexpr ExactCodecs kExactCodecs{{
    {exact_codecs<ExactSingle<Half>, std::int32_t>(),
     exact_codecs<ExactSingle<Half>, std::int64_t>()},
    {exact_codecs<ExactSingle<Bfloat>, std::int32_t>(),
     exact_codecs<ExactSingle<Bfloat>, std::int64_t>()},
    {exact_codecs<ExactSingle<float>, std::int32_t>(),
     exact_codecs<ExactSingle<float>, std::int64_t>()},
    {exact_codecs<ExactDouble, std::int64_t>(), exact_codecs<ExactDouble, std::int64_t>()},
}};

}  // namespace
}  // namespace multitree::runtime::kernels
