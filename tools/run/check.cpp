// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The reference: every element's result from first principles, in a wider type.
///
/// Nothing here calls the runtime's kernels: 16-bit floats are decoded from their definition, sums
/// are taken in double or in 64-bit modular arithmetic.
#include "tools/run/check.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

namespace multitree::tools {
namespace {

using runtime::ReduceOp;

/// splitmix64's finaliser: a cheap, good hash.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t element_hash(const CheckCase& check, std::uint32_t rank, std::uint64_t i) {
  return mix(i * 0x9e3779b97f4a7c15ULL + mix(check.seed + 0x51ed270b7a4f39c5ULL * (rank + 1)));
}

/// An IEEE-like binary format of 16 bits, by its exponent width.
template <int kExponentBits>
struct Small {
  static constexpr int kMantissaBits = 15 - kExponentBits;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  std::uint16_t bits;

  double value() const {
    const int exponent = bits >> kMantissaBits & ((1 << kExponentBits) - 1);
    const int mantissa = bits & ((1 << kMantissaBits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == (1 << kExponentBits) - 1) {
      return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    }
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << kMantissaBits);
    return sign * std::ldexp(whole, std::max(exponent, 1) - kBias - kMantissaBits);
  }

  /// Truncates towards zero; inputs need no correct rounding, they only must be what they are.
  static Small from(double x) {
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    if (x == 0) return {sign};
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(x), &exponent);  // in [0.5, 1)
    if (exponent - 1 + kBias < 1) {
      const double places = std::ldexp(std::fabs(x), kBias - 1 + kMantissaBits);
      return {static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(places))};
    }
    const auto mantissa = static_cast<int>(std::ldexp(fraction, kMantissaBits + 1));
    return {static_cast<std::uint16_t>(sign | (exponent - 1 + kBias) << kMantissaBits |
                                       (mantissa & ((1 << kMantissaBits) - 1)))};
  }
};
using Half = Small<5>;
using BFloat = Small<8>;

template <typename T>
constexpr bool kIsSmall = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

template <typename T>
double to_double(T x) {
  if constexpr (kIsSmall<T>) {
    return x.value();
  } else {
    return static_cast<double>(x);
  }
}

/// Distance from 1 to the next number of the format.
template <typename T>
constexpr double epsilon() {
  if constexpr (kIsSmall<T>) {
    return 1.0 / (1 << T::kMantissaBits);
  } else {
    return static_cast<double>(std::numeric_limits<T>::epsilon());
  }
}

/// An exact-mode floating-point input. Sums of `ranks` of them stay below 2^7 in magnitude for up
/// to 64 ranks, so they are exact even with bfloat16's 8 bits; of a product at most one factor
/// is 2.
double exact_value(const CheckCase& check, std::uint32_t rank, std::uint64_t i,
                   std::uint64_t hash) {
  if (check.call.op == ReduceOp::Prod) {
    const bool is_two = (i + rank) % check.ranks == 0 && i % 2 == 0;
    return (hash & 1) != 0 ? (is_two ? 2.0 : 1.0) : (is_two ? -2.0 : -1.0);
  }
  const std::uint64_t most = std::max<std::uint64_t>(1, 127 / std::max(check.ranks, 8U));
  return static_cast<double>(hash % (2 * most + 1)) - static_cast<double>(most);
}

/// A random-mode input: sums stay of order one, products stay away from zero and overflow.
double random_value(const CheckCase& check, std::uint64_t hash) {
  const double unit = static_cast<double>(hash >> 11) * 0x1p-53;  // [0, 1)
  if (check.call.op == ReduceOp::Prod) return (hash & 1) != 0 ? 0.9 + unit / 5 : -0.9 - unit / 5;
  return 2 * unit - 1;
}

template <typename T>
T input(const CheckCase& check, std::uint32_t rank, std::uint64_t i) {
  const std::uint64_t hash = element_hash(check, rank, i);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(hash);
  } else {
    const double x = check.data == DataKind::Exact ? exact_value(check, rank, i, hash)
                                                   : random_value(check, hash);
    if constexpr (kIsSmall<T>) {
      return T::from(x);
    } else {
      return static_cast<T>(x);
    }
  }
}

/// The exact integer result, modulo the type's range as all implementations wrap.
template <typename T>
T integer_result(const CheckCase& check, std::uint64_t i) {
  using Unsigned = std::make_unsigned_t<T>;
  T extreme = input<T>(check, 0, i);
  std::uint64_t sum = 0, product = 1;
  for (std::uint32_t r = 0; r < check.ranks; ++r) {
    const T x = input<T>(check, r, i);
    sum += static_cast<std::uint64_t>(x);
    product *= static_cast<std::uint64_t>(x);
    if (check.call.op == ReduceOp::Min) extreme = std::min(extreme, x);
    if (check.call.op == ReduceOp::Max) extreme = std::max(extreme, x);
  }
  switch (check.call.op) {
    case ReduceOp::Sum:
      return static_cast<T>(static_cast<Unsigned>(sum));
    case ReduceOp::Prod:
      return static_cast<T>(static_cast<Unsigned>(product));
    case ReduceOp::Avg: {
      const T wrapped = static_cast<T>(static_cast<Unsigned>(sum));
      if constexpr (std::is_signed_v<T>) {
        return static_cast<T>(static_cast<std::int64_t>(wrapped) /
                              static_cast<std::int64_t>(check.ranks));
      } else {
        return static_cast<T>(wrapped / check.ranks);
      }
    }
    default:
      return extreme;
  }
}

/// The real result and how far from it a correct implementation may land.
struct RealResult {
  double value = 0;
  double tolerance = 0;
};

template <typename T>
RealResult real_result(const CheckCase& check, std::uint64_t i) {
  const double first = to_double(input<T>(check, 0, i));
  double sum = 0, magnitude = 0, product = 1, least = first, most = first;
  for (std::uint32_t r = 0; r < check.ranks; ++r) {
    const double x = to_double(input<T>(check, r, i));
    sum += x;
    magnitude += std::fabs(x);
    product *= x;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  const double rounding = check.data == DataKind::Exact ? 0 : check.ranks * epsilon<T>();
  // All of a block are rounded as its largest is, which is below 1.
  if (check.call.summing == runtime::Summing::Blocks) magnitude = std::max(magnitude, 1.0);
  switch (check.call.op) {
    case ReduceOp::Sum:
      return {sum, rounding * magnitude};
    case ReduceOp::Prod:
      return {product, rounding * std::fabs(product)};
    case ReduceOp::Min:
      return {least, 0};
    case ReduceOp::Max:
      return {most, 0};
    default:  // Avg: the division rounds even where the sum is exact
      return {sum / check.ranks,
              (rounding * magnitude + epsilon<T>() * std::fabs(sum)) / check.ranks};
  }
}

template <typename T>
void fill(const CheckCase& check, std::uint32_t rank, std::uint64_t first, std::uint64_t count,
          void* data) {
  T* out = static_cast<T*>(data);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = input<T>(check, rank, first + i);
}

template <typename T>
std::uint64_t wrong(const CheckCase& check, std::uint64_t first, std::uint64_t count,
                    const void* data) {
  const T* got = static_cast<const T*>(data);
  std::uint64_t bad = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      bad += got[i] != integer_result<T>(check, first + i);
    } else {
      const RealResult expected = real_result<T>(check, first + i);
      bad += !(std::fabs(to_double(got[i]) - expected.value) <= expected.tolerance);
    }
  }
  return bad;
}

template <typename T>
std::uint64_t wrong_copy(const CheckCase& check, std::uint32_t owner, std::uint64_t first,
                         std::uint64_t count, const void* data) {
  const T* got = static_cast<const T*>(data);
  std::uint64_t bad = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const T expected = input<T>(check, owner, first + i);
    // What is only moved must arrive bit for bit.
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    bad += std::memcmp(&got[i], &expected, sizeof(T)) != 0;
  }
  return bad;
}

/// What there is for each type.
struct Checks {
  decltype(&fill<float>) fill;
  decltype(&wrong<float>) wrong;
  decltype(&wrong_copy<float>) wrong_copy;
};
template <typename T>
constexpr Checks kOf{fill<T>, wrong<T>, wrong_copy<T>};

const Checks& checks_of(const CheckCase& check) {
  // In the order of DataType.
  static constexpr std::array kAll{kOf<std::int8_t>,   kOf<std::uint8_t>,  kOf<std::int32_t>,
                                   kOf<std::int64_t>,  kOf<Half>,          kOf<BFloat>,
                                   kOf<float>,         kOf<double>,        kOf<std::int16_t>,
                                   kOf<std::uint16_t>, kOf<std::uint32_t>, kOf<std::uint64_t>};
  return kAll.at(static_cast<std::size_t>(check.call.type));
}

}  // namespace

void fill_input(const CheckCase& check, Rank rank, std::uint64_t first, std::uint64_t count,
                void* data) {
  checks_of(check).fill(check, index(rank), first, count, data);
}

std::uint64_t count_wrong(const CheckCase& check, std::uint64_t first, std::uint64_t count,
                          const void* data) {
  return checks_of(check).wrong(check, first, count, data);
}

std::uint64_t count_wrong_copy(const CheckCase& check, std::uint32_t owner, std::uint64_t first,
                               std::uint64_t count, const void* data) {
  return checks_of(check).wrong_copy(check, owner, first, count, data);
}

std::uint64_t digest(std::uint64_t chain, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) chain = (chain ^ at[i]) * 0x100000001b3ULL;
  return chain;
}

}  // namespace multitree::tools
