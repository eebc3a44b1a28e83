// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_reduce_unit as a pipeline, for every latency and both implementations.
#include <Vreduce_unit.h>
#include <Vreduce_unit_1.h>
#include <Vreduce_unit_2.h>
#include <Vreduce_unit_4.h>
#include <Vreduce_unit_512.h>
#include <Vreduce_unit_bf16.h>
#include <Vreduce_unit_dpi.h>
#include <Vreduce_unit_fp16.h>
#include <Vreduce_unit_fp32.h>
#include <Vreduce_unit_half.h>
#include <Vreduce_unit_mixed.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <tuple>
#include <vector>

#include "rtl/sim/stop.hpp"
#include "tests/rtl/arith/reference.hpp"
#include "tests/rtl/arith/unit.hpp"

namespace multitree::rtl {
namespace {

Flit expected(const Operands& operands) {
  Flit result = operands.b;
  for (std::size_t i = 0; i < result.size() && !operands.copy; ++i) {
    const std::uint32_t a = operands.a[i];
    const std::uint32_t b = operands.b[i];
    const auto halves = [&](const Format& format) {
      return format.add(a & 0xffff, b & 0xffff) | (format.add(a >> 16, b >> 16) << 16);
    };
    switch (operands.type) {
      case Type::Int32:
        result[i] = a + b;
        break;
      case Type::Fp32:
        result[i] = kFp32.add(a, b);
        break;
      case Type::Bf16:
        result[i] = halves(kBf16);
        break;
      case Type::Fp16:
        result[i] = halves(kFp16);
        break;
    }
  }
  return result;
}

/// Any type, often with NaNs, infinities and close exponents.
class Stimulus {
 public:
  explicit Stimulus(unsigned seed) : random_(seed) {}
  bool chance(unsigned percent) { return draw() % 100 < percent; }
  Operands operands() {
    Operands result{.type = static_cast<Type>(draw() % 4), .copy = chance(20)};
    for (std::size_t i = 0; i < result.a.size(); ++i) {
      result.a[i] = draw();
      result.b[i] = chance(50) ? draw() : result.a[i] ^ 0x80008000 ^ (draw() & 0x01ff01ff);
      if (chance(10)) result.a[i] |= 0x7f807f80;
      if (chance(10)) result.b[i] |= 0x7f807f80;
    }
    return result;
  }

 private:
  std::uint32_t draw() { return static_cast<std::uint32_t>(random_()); }
  std::mt19937 random_;
};

/// A model, its latency, and the types that it adds, as bits.
template <typename M, int L, unsigned T = 0b1111>
struct Variant {
  using Model = M;
  static constexpr int latency = L;
  static constexpr unsigned types = T;
};

template <typename V>
class Pipeline : public testing::Test {
 protected:
  using Model = typename V::Model;
  static constexpr std::size_t latency = V::latency;

  /// Of a type that the model does not have, a gather.
  static Operands operands(Stimulus& stimulus) {
    Operands result = stimulus.operands();
    if ((V::types >> static_cast<unsigned>(result.type)) % 2 == 0) result.copy = true;
    return result;
  }
};
using Variants =
    testing::Types<Variant<Vreduce_unit, 3>, Variant<Vreduce_unit_1, 1>, Variant<Vreduce_unit_2, 2>,
                   Variant<Vreduce_unit_4, 4>, Variant<Vreduce_unit_dpi, 3>,
                   Variant<Vreduce_unit_fp32, 3, 0b0010>, Variant<Vreduce_unit_bf16, 3, 0b0100>,
                   Variant<Vreduce_unit_fp16, 3, 0b1000>, Variant<Vreduce_unit_half, 3, 0b1100>,
                   Variant<Vreduce_unit_mixed, 3, 0b0111>>;
TYPED_TEST_SUITE(Pipeline, Variants);

// What comes out, and when, does not depend on stalls, gaps, or what is beside it in the pipeline.
TYPED_TEST(Pipeline, GivesEachSumAfterLatencyEnabledCycles) {
  for (const int seed : {1, 2, 3}) {
    Unit<typename TestFixture::Model> unit{seed};
    Stimulus stimulus(seed);
    std::deque<Operands> inside(TestFixture::latency, Operands{.valid = false});
    for (int i = 0; i < 30'000; ++i) {
      const bool enable = stimulus.chance(70);
      Operands operands = TestFixture::operands(stimulus);
      operands.valid = stimulus.chance(75);
      unit.cycle(operands, enable);
      if (enable) {
        inside.push_back(operands);
        inside.pop_front();
      }
      ASSERT_EQ(unit.valid(), inside.front().valid) << i;
      if (unit.valid()) {
        ASSERT_EQ(unit.result(), expected(inside.front())) << i;
      }
    }
  }
}

TYPED_TEST(Pipeline, TakesAFlitInEveryCycle) {
  Unit<typename TestFixture::Model> unit;
  Stimulus stimulus(4);
  std::vector<Operands> inside;
  std::size_t out = 0;
  for (std::size_t i = 0; i < 1000 + TestFixture::latency - 1; ++i) {
    inside.push_back(TestFixture::operands(stimulus));
    inside.back().valid = i < 1000;
    unit.cycle(inside.back(), true);
    if (unit.valid()) {
      ASSERT_EQ(unit.result(), expected(inside[out++]));
    }
  }
  EXPECT_EQ(out, 1000U);
}

TYPED_TEST(Pipeline, IsEmptyAfterReset) {
  Unit<typename TestFixture::Model> unit;
  Stimulus stimulus(5);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i <= round % 6; ++i) unit.cycle(TestFixture::operands(stimulus), true);
    unit.reset();
    for (std::size_t i = 0; i < TestFixture::latency + 2; ++i) {
      ASSERT_FALSE(unit.valid());
      unit.cycle({.valid = false}, true);
    }
    const Operands operands = TestFixture::operands(stimulus);
    unit.cycle(operands, true);
    for (std::size_t i = 1; i < TestFixture::latency; ++i) unit.cycle({.valid = false}, true);
    ASSERT_TRUE(unit.valid());
    ASSERT_EQ(unit.result(), expected(operands));
  }
}

TEST(Implementations, AgreeInEveryCycle) {
  Unit<Vreduce_unit> adders;
  Unit<Vreduce_unit_dpi> function;
  Stimulus stimulus(6);
  for (int i = 0; i < 500'000; ++i) {
    Operands operands = stimulus.operands();
    operands.valid = stimulus.chance(90);
    const bool enable = stimulus.chance(90);
    adders.cycle(operands, enable);
    function.cycle(operands, enable);
    ASSERT_EQ(adders.valid(), function.valid());
    if (adders.valid()) {
      ASSERT_EQ(adders.result(), function.result());
    }
  }
}

// The four parts of a flit have a sum each, at once.
TEST(WideUnit, IsFourSideBySide) {
  constexpr std::size_t kParts = 4, kWords = std::tuple_size_v<Flit>, kLatency = 3;
  VerilatedContext context;
  Vreduce_unit_512 wide(&context, "wide");
  Stimulus stimulus(7);
  std::deque<std::array<Operands, kParts>> inside;
  wide.rst_ni = wide.en_i = wide.valid_i = 1;
  for (int i = 0; i < 20'000; ++i) {
    std::array<Operands, kParts> parts;
    for (Operands& part : parts) part = stimulus.operands();
    for (std::size_t p = 0; p < kParts; ++p) {
      parts[p].type = parts[0].type;
      parts[p].copy = parts[0].copy;
      std::ranges::copy(parts[p].a, &wide.a_i[p * kWords]);
      std::ranges::copy(parts[p].b, &wide.b_i[p * kWords]);
    }
    wide.dtype_i = static_cast<std::uint8_t>(parts[0].type);
    wide.copy_i = parts[0].copy;
    inside.push_back(parts);
    for (const CData clock : {CData{0}, CData{1}}) {
      wide.clk_i = clock;
      wide.eval();
    }
    if (inside.size() < kLatency) continue;
    ASSERT_EQ(wide.valid_o, 1);
    for (std::size_t p = 0; p < kParts; ++p) {
      Flit sum;
      std::copy_n(&wide.r_o[p * kWords], kWords, sum.begin());
      ASSERT_EQ(sum, expected(inside.front()[p])) << i << ", part " << p;
    }
    inside.pop_front();
  }
}

TEST(DisabledTypes, CanBeGatheredAndNotAdded) {
  Unit<Vreduce_unit_fp32> unit;
  Operands operands{.type = Type::Bf16, .copy = true, .a = {1, 2, 3, 4}, .b = {5, 6, 7, 8}};
  for (int i = 0; i < 3; ++i) unit.cycle(operands, true);
  EXPECT_TRUE(unit.valid());
  EXPECT_EQ(unit.result(), operands.b);
  for (const Type type : {Type::Int32, Type::Bf16, Type::Fp16}) {
    operands.type = type;
    operands.copy = false;
    EXPECT_THROW(unit.cycle(operands, true), AssertionFailed);
  }
  operands.type = Type::Fp32;
  EXPECT_NO_THROW(unit.cycle(operands, true));
}

}  // namespace
}  // namespace multitree::rtl
