// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums of floats of any format, rounded by hand; and operands that are worth a test.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace multitree::rtl {

/// A binary format of at most 32 bits.
struct Format {
  int exponent_bits;
  int mantissa_bits;

  [[nodiscard]] int width() const { return 1 + exponent_bits + mantissa_bits; }
  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] std::uint32_t sign() const { return 1U << (width() - 1); }
  [[nodiscard]] std::uint32_t infinity() const {
    return ((1U << exponent_bits) - 1) << mantissa_bits;
  }
  [[nodiscard]] std::uint32_t quiet() const { return 1U << (mantissa_bits - 1); }
  [[nodiscard]] bool is_nan(std::uint32_t bits) const { return (bits & ~sign()) > infinity(); }

  /// Exact. Not for NaNs.
  [[nodiscard]] double value(std::uint32_t bits) const {
    const auto exponent = static_cast<int>((bits & infinity()) >> mantissa_bits);
    const std::uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
    const std::uint32_t hidden = exponent == 0 ? 0 : 1U << mantissa_bits;
    double magnitude =
        std::ldexp(mantissa + hidden, std::max(exponent, 1) - bias() - mantissa_bits);
    if ((bits & infinity()) == infinity()) magnitude = std::numeric_limits<double>::infinity();
    return (bits & sign()) != 0 ? -magnitude : magnitude;
  }

  /// To nearest; ties to the even significand. Not for NaNs.
  [[nodiscard]] std::uint32_t round(double value) const {
    const std::uint32_t negative = std::signbit(value) ? sign() : 0;
    value = std::fabs(value);
    if (std::isinf(value)) return negative | infinity();
    const int exponent = value == 0 ? 1 - bias() : std::max(std::ilogb(value), 1 - bias());
    const double scaled = std::ldexp(value, mantissa_bits - exponent);  // in last places, exact
    auto places = static_cast<std::uint64_t>(scaled);
    const double rest = scaled - static_cast<double>(places);
    if (rest > 0.5 || (rest == 0.5 && places % 2 != 0)) ++places;
    // A leading one adds to the exponent, which is that of subnormals here.
    const std::uint64_t bits =
        (static_cast<std::uint64_t>(exponent + bias() - 1) << mantissa_bits) + places;
    return negative | (bits < infinity() ? static_cast<std::uint32_t>(bits) : infinity());
  }

  /// A double holds twice the significand and two bits: rounding to it first does no harm.
  [[nodiscard]] std::uint32_t add(std::uint32_t a, std::uint32_t b) const {
    const bool canonical = exponent_bits == 5;  // as runtime::Half
    for (const std::uint32_t operand : {a, b}) {
      if (is_nan(operand)) {
        return canonical ? (operand & sign()) | infinity() | quiet() : operand | quiet();
      }
    }
    const double sum = value(a) + value(b);
    return std::isnan(sum) ? sign() | infinity() | quiet() : round(sum);
  }

  /// Both signs of all classes; powers of two about 1, and as far apart as sticky bits matter.
  [[nodiscard]] std::vector<std::uint32_t> corners() const {
    const int m = mantissa_bits;
    const auto top = static_cast<int>(infinity() >> m);
    const std::uint32_t ones = (1U << m) - 1;
    std::vector<int> exponents{0, 1, 2, 3, m, top - 2, top - 1, top};
    for (const int apart :
         {-m - 3, -m - 2, -m - 1, -m, 1 - m, -2, -1, 0, 1, 2, m - 1, m, m + 1, m + 2, m + 3}) {
      if (bias() + apart > 3 && bias() + apart < top - 2) exponents.push_back(bias() + apart);
    }
    std::vector<std::uint32_t> result;
    for (const int exponent : exponents) {
      for (const std::uint32_t mantissa :
           {0U, 1U, 2U, 3U, quiet() - 1, quiet(), quiet() + 1, ones - 1, ones, 0x55555555 & ones}) {
        const std::uint32_t bits = (static_cast<std::uint32_t>(exponent) << m) | mantissa;
        result.insert(result.end(), {bits, bits | sign()});
      }
    }
    return result;
  }
};

constexpr Format kFp32{8, 23};
constexpr Format kBf16{8, 7};
constexpr Format kFp16{5, 10};

/// What the processor's own instruction gives, where it is x86's.
inline std::optional<std::uint32_t> host_add([[maybe_unused]] std::uint32_t a,
                                             [[maybe_unused]] std::uint32_t b) {
#if defined(__x86_64__)
  auto sum = std::bit_cast<float>(a);
  asm("addss %1, %0" : "+x"(sum) : "x"(std::bit_cast<float>(b)));  // a compiler could swap a and b
  return std::bit_cast<std::uint32_t>(sum);
#else
  return std::nullopt;
#endif
}

}  // namespace multitree::rtl
