// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reduction kernels against arithmetic done in wider types, and the 16-bit floats bit by bit.
#include "runtime/kernels/reduce.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "runtime/kernels/float16_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// A 16-bit format by its definition, sharing nothing with the code under test.
struct Format {
  int mantissa_bits, min_exponent, max_exponent;

  [[nodiscard]] double decode(std::uint16_t bits) const {
    const int biased = (bits & 0x7fff) >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (biased == max_exponent - min_exponent + 2) {
      return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
    }
    if (biased == 0) return sign * std::ldexp(mantissa, min_exponent - mantissa_bits);
    return sign *
           std::ldexp(mantissa + (1 << mantissa_bits), biased - 1 + min_exponent - mantissa_bits);
  }

  /// The nearest value, ties to even, as a double.
  [[nodiscard]] double round(double value) const {
    if (value == 0 || !std::isfinite(value)) return value;
    const int exponent = std::max(std::ilogb(value), min_exponent);
    const double quantum = std::ldexp(1.0, exponent - mantissa_bits);
    const double rounded = std::nearbyint(value / quantum) * quantum;
    return std::abs(rounded) >= std::ldexp(1.0, max_exponent + 1) ? std::copysign(HUGE_VAL, value)
                                                                  : rounded;
  }
};
constexpr Format kHalf{10, -14, 15};
constexpr Format kBfloat{7, -126, 127};

template <typename T>
void check_decoding(const Format& format) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float found = T{pattern}.to_float();
    const double want = format.decode(pattern);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
      ASSERT_TRUE(std::isnan(T::from_float(found).to_float())) << bits;
    } else {
      ASSERT_EQ(found, want) << bits;
      ASSERT_EQ(std::signbit(found), std::signbit(want)) << bits;
      ASSERT_EQ(T::from_float(found).bits, pattern);
    }
  }
}

template <typename T>
void check_rounding(const Format& format) {
  const auto check = [&](float value) {
    const float found = T::from_float(value).to_float();
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(found));
    } else {
      ASSERT_EQ(found, format.round(value)) << value;
      ASSERT_EQ(std::signbit(found), std::signbit(value)) << value;
    }
  };
  // A stride through all floats; then every tie, with its neighbours.
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    check(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (std::uint32_t bits = 0; bits + 1 < 65536; ++bits) {
    const double low = format.decode(static_cast<std::uint16_t>(bits));
    const double high = format.decode(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>(low + (high - low) / 2);
    for (const float value :
         {middle, std::nextafter(middle, -HUGE_VALF), std::nextafter(middle, HUGE_VALF)}) {
      check(value);
    }
  }
  for (const float value : {65504.0F, 65519.996F, 65520.0F, 65536.0F, 3.4028235e38F, 3.39e38F}) {
    check(value);
    check(-value);
  }
}

TEST(Float16, DecodesAndKeepsEveryPattern) { check_decoding<Half>(kHalf); }
TEST(Float16, RoundsToNearestEven) { check_rounding<Half>(kHalf); }
TEST(BFloat16, DecodesAndKeepsEveryPattern) { check_decoding<Bfloat>(kBfloat); }
TEST(BFloat16, RoundsToNearestEven) { check_rounding<Bfloat>(kBfloat); }

/// What one element becomes, by arithmetic in a wider type.
template <typename T>
T reference(T a, T b, ReduceOp op) {
  if (op == ReduceOp::Min) return std::min(a, b);
  if (op == ReduceOp::Max) return std::max(a, b);
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::BitAnd) return static_cast<T>(a & b);
    if (op == ReduceOp::BitOr) return static_cast<T>(a | b);
    if (op == ReduceOp::BitXor) return static_cast<T>(a ^ b);
    if (op == ReduceOp::LogicalAnd) return a != 0 && b != 0 ? 1 : 0;
    if (op == ReduceOp::LogicalOr) return a != 0 || b != 0 ? 1 : 0;
    if (op == ReduceOp::LogicalXor) return (a != 0) != (b != 0) ? 1 : 0;
  }
  const bool product = op == ReduceOp::Prod;
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<__int128>(a);  // NOLINT(bugprone-signed-char-misuse): a number
    const auto y = static_cast<__int128>(b);  // NOLINT(bugprone-signed-char-misuse)
    return static_cast<T>(static_cast<std::uint64_t>(product ? x * y : x + y));
  } else {
    // A float sum or product is exact in long double or rounds once to the same value.
    const auto x = static_cast<long double>(a), y = static_cast<long double>(b);
    return static_cast<T>(product ? x * y : x + y);
  }
}

template <typename T>
T random_value(std::mt19937_64& random) {
  if constexpr (std::is_integral_v<T>) {
    return random() % 4 == 0 ? T{0} : static_cast<T>(random());
  } else {
    return static_cast<T>(static_cast<std::int64_t>(random() % 20001) - 10000) / T{64};
  }
}

template <typename T>
class ReduceNative : public ::testing::Test {};
using NativeTypes =
    ::testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::int64_t, float, double,
                     std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(ReduceNative, NativeTypes);

template <typename T>
constexpr DataType type_of() {
  if constexpr (std::is_same_v<T, std::int8_t>) return DataType::Int8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DataType::Uint8;
  if constexpr (std::is_same_v<T, std::int32_t>) return DataType::Int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DataType::Int64;
  if constexpr (std::is_same_v<T, std::int16_t>) return DataType::Int16;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DataType::Uint16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DataType::Uint32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DataType::Uint64;
  if constexpr (std::is_same_v<T, float>) return DataType::Float32;
  return DataType::Float64;
}

TYPED_TEST(ReduceNative, MatchesWiderArithmetic) {
  std::mt19937_64 random(3);
  std::vector<ReduceOp> ops(all_reduce_ops().begin(), all_reduce_ops().end());
  if (std::is_integral_v<TypeParam>) ops.insert(ops.end(), logic_ops().begin(), logic_ops().end());
  for (const ReduceOp op : ops) {
    for (const std::size_t count : {0, 1, 7, 16, 1003}) {
      std::vector<TypeParam> a(count + 1), b(count + 1);
      for (auto& x : a) x = random_value<TypeParam>(random);
      for (auto& x : b) x = random_value<TypeParam>(random);
      std::vector<TypeParam> want = a;
      for (std::size_t i = 0; i < count; ++i) want[i] = reference(a[i], b[i], op);
      reduce(a.data(), b.data(), count, type_of<TypeParam>(), op);
      EXPECT_EQ(a, want) << to_string(op);  // with the element past the end
    }
  }
}

TYPED_TEST(ReduceNative, PremultipliesInPlaceOrNot) {
  std::mt19937_64 random(5);
  for (const std::size_t count : {0, 1, 9, 5000}) {
    std::vector<TypeParam> in(count + 1), out(count + 1, TypeParam{77}), want = out;
    for (auto& x : in) x = random_value<TypeParam>(random);
    const auto scalar = random_value<TypeParam>(random);
    for (std::size_t i = 0; i < count; ++i) want[i] = reference(in[i], scalar, ReduceOp::Prod);
    premultiply(out.data(), in.data(), count, type_of<TypeParam>(), &scalar);
    EXPECT_EQ(out, want);
    want[count] = in[count];
    premultiply(in.data(), in.data(), count, type_of<TypeParam>(), &scalar);
    EXPECT_EQ(in, want);
  }
}

/// The last operand's digits follow those of the first: that order is seen, and is associative.
TYPED_TEST(ReduceNative, FunctionsSeeOperandsInOrder) {
  using T = TypeParam;
  const ReduceFunction second = [](const void* in, void* inout, std::size_t count, DataType type) {
    EXPECT_EQ(type, type_of<T>());
    const T* a = static_cast<const T*>(in);
    T* b = static_cast<T*>(inout);
    for (std::size_t i = 0; i < count; ++i) b[i] = b[i] != T{0} ? b[i] : a[i];
  };
  for (const std::size_t inputs : {1U, 2U, 5U, 20U}) {
    const std::size_t count = 5000;
    std::vector<std::vector<T>> operands(inputs, std::vector<T>(count));
    std::vector<T> want(count, T{0});
    std::vector<const void*> pointers;
    std::mt19937_64 random(inputs);
    for (auto& operand : operands) {
      for (std::size_t i = 0; i < count; ++i) {
        operand[i] = random() % 2 == 0 ? T{0} : static_cast<T>(1 + random() % 100);
        if (operand[i] != T{0}) want[i] = operand[i];
      }
      pointers.push_back(operand.data());
    }
    std::vector<T> got(count);
    reduce(got.data(), pointers, count, type_of<T>(), ReduceOp::Custom, &second);
    EXPECT_EQ(got, want);
    std::vector<T>& place = operands[inputs / 2];  // of the operands one may be the result
    reduce(place.data(), pointers, count, type_of<T>(), ReduceOp::Custom, &second);
    EXPECT_EQ(place, want);
  }
}

TYPED_TEST(ReduceNative, AverageDividesOnce) {
  std::vector<TypeParam> data{0, 1, 7, 21, 100};
  if (std::is_signed_v<TypeParam>) data.push_back(static_cast<TypeParam>(-7));
  std::vector<TypeParam> want;
  for (const TypeParam x : data) want.push_back(static_cast<TypeParam>(x / TypeParam{3}));
  const std::vector<TypeParam> before = data;
  finish_reduction(data.data(), data.size(), type_of<TypeParam>(), ReduceOp::Sum, 3);
  EXPECT_EQ(data, before);
  finish_reduction(data.data(), data.size(), type_of<TypeParam>(), ReduceOp::Avg, 3);
  EXPECT_EQ(data, want);
}

TEST(ReduceNative, AveragesOfUnsignedNumbersKnowNoSign) {
  std::uint64_t large = 0xffff'ffff'ffff'fff0;
  finish_reduction(&large, 1, DataType::Uint64, ReduceOp::Avg, 16);
  EXPECT_EQ(large, 0x0fff'ffff'ffff'ffffU);
}

TEST(ReduceNative, MoreRanksThanTheTypeCounts) {
  std::int8_t value = 100;
  finish_reduction(&value, 1, DataType::Int8, ReduceOp::Avg, 256);
  EXPECT_EQ(value, 0);
}

template <typename T>
void check_sixteen(const Format& format, DataType type) {
  std::mt19937 random(5);
  for (const ReduceOp op : all_reduce_ops()) {
    std::vector<std::uint16_t> a(4001), b(4001);
    for (auto& x : a) x = static_cast<std::uint16_t>(random());
    for (auto& x : b) x = static_cast<std::uint16_t>(random());
    const std::vector<std::uint16_t> before = a;
    reduce(a.data(), b.data(), a.size(), type, op);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto x = static_cast<float>(format.decode(before[i]));
      const auto y = static_cast<float>(format.decode(b[i]));
      if (std::isnan(x) || std::isnan(y)) continue;  // which NaN, or whether, is the operator's
      const double want = format.round(reference(x, y, op));
      const double found = format.decode(a[i]);
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(found));
      } else {
        EXPECT_EQ(found, want) << x << ' ' << to_string(op) << ' ' << y;
      }
    }
  }
}

TEST(ReduceSixteenBit, RoundsAfterEachOperation) {
  check_sixteen<Half>(kHalf, DataType::Float16);
  check_sixteen<Bfloat>(kBfloat, DataType::BFloat16);
}

TEST(ReduceSixteenBit, SumsAndProductsOfNanAreNan) {
  for (const DataType type : {DataType::Float16, DataType::BFloat16}) {
    const std::uint16_t one = type == DataType::Float16 ? 0x3c00 : 0x3f80;
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Avg}) {
      std::uint16_t value = 0x7fff;
      reduce(&value, &one, 1, type, op);
      EXPECT_TRUE(
          std::isnan(type == DataType::Float16 ? kHalf.decode(value) : kBfloat.decode(value)));
    }
  }
}

TEST(Names, ReadBackAndRefuse) {
  for (const DataType type : all_data_types()) EXPECT_EQ(parse_data_type(to_string(type)), type);
  for (const ReduceOp op : all_reduce_ops()) EXPECT_EQ(parse_reduce_op(to_string(op)), op);
  EXPECT_EQ(parse_data_type("float16"), DataType::Float16);
  EXPECT_EQ(parse_data_type("float32"), DataType::Float32);
  EXPECT_EQ(parse_data_type("float64"), DataType::Float64);
  EXPECT_THAT(
      [] { parse_data_type(""); },
      ::testing::ThrowsMessage<Error>(::testing::StrEq(
          "unknown data type \"\"; one of: int8 uint8 int32 int64 half bfloat16 float double "
          "int16 uint16 uint32 uint64")));
  EXPECT_THAT([] { parse_reduce_op("xor"); },
              ::testing::ThrowsMessage<Error>(::testing::StrEq(
                  "unknown reduction operator \"xor\"; one of: sum prod min max avg")));
}

}  // namespace
}  // namespace multitree::runtime
