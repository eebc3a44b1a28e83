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

/// How elements are stored and computed with.
template <typename Element, typename Real, typename Unsigned, typename Signed, typename Small>
struct ExactFormat {
  using Stored = Element;
  using Value = Real;
  using Bits = Unsigned;
  using Exponent = Small;
  static constexpr unsigned kMantissa = sizeof(Value) == 4 ? 23 : 52;
  static constexpr Bits kNotFinite = sizeof(Value) == 4 ? 255 : 2047;
  static constexpr auto kBias = static_cast<Signed>(kNotFinite / 2);

  static MULTITREE_FLOAT16 Value load(Element element) {
    if constexpr (sizeof(Element) == sizeof(Value)) {
      return element;
    } else {
      return element.to_float();
    }
  }
  static MULTITREE_FLOAT16 Element store(Value value) {
    if constexpr (sizeof(Element) == sizeof(Value)) {
      return value;
    } else {
      return Element::from_float(value);
    }
  }
  /// The power of two that is the last place of numbers with this exponent.
  static MULTITREE_FLOAT16 Signed unit_of(Exponent exponent) {
    const Signed field = exponent == 0 ? 1 : exponent;
    return field - kBias - static_cast<Signed>(kMantissa);
  }
  /// value * 2^power, in two steps, as the power may be out of range.
  static MULTITREE_FLOAT16 Value scaled(Value value, Signed power) {
    const Signed half = power >> 1, other = power - half;
    return value * __builtin_bit_cast(Value, (kBias + half) << kMantissa) *
           __builtin_bit_cast(Value, (kBias + other) << kMantissa);
  }
  /// How often the unit of numbers with exponent `agreed` goes into `value`, to nearest even: its
  /// digits without those that lie below the unit. By integers alone, as a processor may be set to
  /// take small floats as 0. \pre value is finite, its exponent at most `agreed`
  template <typename Whole>
  static MULTITREE_FLOAT16 Whole whole(Value value, Exponent agreed) {
    const Bits all = __builtin_bit_cast(Bits, value), sign = all >> (8 * sizeof(Bits) - 1);
    const Bits field = all >> kMantissa & kNotFinite, fraction = all & ((Bits{1} << kMantissa) - 1);
    const Bits normal = field == 0 ? 0 : 1, own = field == 0 ? 1 : field;
    const Bits most = agreed == 0 ? 1 : agreed;
    // A digit more, so that there is one to be rounded away in any case.
    const Bits digits = (normal << kMantissa | fraction) << 1;
    const Bits distance = most - own + 1,
               shift = distance < kMantissa + 3 ? distance : kMantissa + 3;
    const Bits odd = digits >> shift & 1;
    const Bits number = (digits + (Bits{1} << (shift - 1)) - 1 + odd) >> shift;
    return static_cast<Whole>(static_cast<Signed>((number ^ (Bits{0} - sign)) + sign));
  }
  /// Rounded once: what is below the least normal number has a whole number of few bits.
  template <typename Whole>
  static MULTITREE_FLOAT16 Value value(Whole whole, Signed unit) {
    return scaled(static_cast<Value>(whole), unit);
  }
};
template <typename Element>
using ExactSingle = ExactFormat<Element, float, std::uint32_t, std::int32_t, std::uint8_t>;
using ExactDouble = ExactFormat<double, double, std::uint64_t, std::int64_t, std::uint16_t>;

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

  /// Of one block of at most kExactBlock elements.
  struct Agreed {
    Exponent exponents[kExactBlock] = {};
    bool finite = true;  ///< all of them are

    Agreed(const void* from, std::size_t at, std::size_t length) {
      const std::size_t first = kBlocks ? at / kExactBlock : at;
      __builtin_memcpy(exponents, static_cast<const char*>(from) + first * sizeof(Exponent),
                       (kBlocks ? 1 : length) * sizeof(Exponent));
      Exponent most = 0;
      for (std::size_t i = 0; i < (kBlocks ? 1 : kExactBlock); ++i) {
        most = most < exponents[i] ? exponents[i] : most;
      }
      finite = most != Format::kNotFinite;
    }
    [[nodiscard]] MULTITREE_FLOAT16 Exponent of(std::size_t i) const {
      return exponents[kBlocks ? 0 : i];
    }
  };

  static void encode(void* to, const void* from, const void* exponents, std::size_t count) {
    for (std::size_t at = 0; at < count; at += kExactBlock) {
      Value values[kExactBlock];
      const std::size_t length = load(values, from, at, count);
      const Agreed agreed(exponents, at, length);
      Whole wholes[kExactBlock], kinds[kExactBlock];
      if (!agreed.finite) {
        for (std::size_t i = 0; i < kExactBlock; ++i) {
          kinds[i] = kind_of(values[i]);
          if (agreed.of(i) == Format::kNotFinite) values[i] = 0;
        }
      }
      for (std::size_t i = 0; i < kExactBlock; ++i) {
        wholes[i] = Format::template whole<Whole>(values[i], agreed.of(i));
      }
      if (!agreed.finite) {
        for (std::size_t i = 0; i < kExactBlock; ++i) {
          if (agreed.of(i) == Format::kNotFinite) wholes[i] = kinds[i];
        }
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
      const Agreed agreed(exponents, at, length);
      Value values[kExactBlock];
      for (std::size_t i = 0; i < kExactBlock; ++i) {
        values[i] = Format::value(wholes[i], Format::unit_of(agreed.of(i)));
      }
      if (!agreed.finite) {
        for (std::size_t i = 0; i < kExactBlock; ++i) {
          if (agreed.of(i) == Format::kNotFinite) values[i] = of_kinds(wholes[i]);
        }
      }
      Stored stored[kExactBlock];
      for (std::size_t i = 0; i < kExactBlock; ++i) stored[i] = Format::store(values[i]);
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
