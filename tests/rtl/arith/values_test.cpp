// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_reduce_unit's sums against hand-rounded ones, the processor's and the runtime's.
#include <Vreduce_unit.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "runtime/kernels/reduce.hpp"
#include "tests/rtl/arith/reference.hpp"
#include "tests/rtl/arith/unit.hpp"

namespace multitree::rtl {
namespace {

using runtime::DataType;

/// A type of float: its format, how the unit and the runtime call it.
struct Float {
  Format format;
  Type type;
  DataType data_type;
  const char* name;

  friend void PrintTo(const Float& self, std::ostream* out) { *out << self.name; }
};
constexpr std::array kFloats{Float{kFp32, Type::Fp32, DataType::Float32, "fp32"},
                             Float{kBf16, Type::Bf16, DataType::BFloat16, "bf16"},
                             Float{kFp16, Type::Fp16, DataType::Float16, "fp16"}};

class Sums : public testing::TestWithParam<Float> {
 protected:
  [[nodiscard]] const Format& format() const { return GetParam().format; }
  [[nodiscard]] std::size_t lanes() const { return 128 / format().width(); }

  static std::uint32_t lane(const Flit& flit, std::size_t index, int width) {
    const std::size_t bit = index * width;
    return (flit[bit / 32] >> (bit % 32)) & (width == 32 ? ~0U : (1U << width) - 1);
  }
  static void put(Flit& flit, std::size_t index, int width, std::uint32_t value) {
    const std::size_t bit = index * width;
    flit[bit / 32] |= value << (bit % 32);
  }

  /// One more pair to add.
  void push(std::uint32_t a, std::uint32_t b) {
    if (count_ == 4096 * lanes()) flush();
    const std::size_t k = count_++ % lanes();
    if (k == 0) {
      a_.emplace_back();
      b_.emplace_back();
    }
    put(a_.back(), k, format().width(), a);
    put(b_.back(), k, format().width(), b);
  }

  /// Adds and checks what was pushed.
  void flush() {
    result_.resize(a_.size());
    unit_.add(GetParam().type, a_, b_, result_);
    runtime_.resize(a_.size());
    runtime::reduce(runtime_.data(), a_.data(), b_.data(), a_.size() * lanes(),
                    GetParam().data_type, runtime::ReduceOp::Sum);
    for (std::size_t i = 0; i < a_.size() && !HasFailure(); ++i) {
      if (!by_hand_ && result_[i] == runtime_[i]) continue;
      for (std::size_t k = 0; k < lanes(); ++k) check(i, k);
    }
    a_.clear();
    b_.clear();
    count_ = 0;
  }

  std::vector<Flit> a_, b_, result_, runtime_;
  Unit<Vreduce_unit> unit_;
  std::size_t count_ = 0;
  bool by_hand_ = true;  ///< too slow for all pairs that there are

 private:
  void check(std::size_t i, std::size_t k) {
    const int width = format().width();
    const std::uint32_t a = lane(a_[i], k, width);
    const std::uint32_t b = lane(b_[i], k, width);
    const std::uint32_t result = lane(result_[i], k, width);
    ASSERT_EQ(result, format().add(a, b)) << std::hex << "by hand: " << a << " + " << b;
    const std::uint32_t runtime = lane(runtime_[i], k, width);
    ASSERT_EQ(result, runtime) << std::hex << "runtime: " << a << " + " << b;
    if (width == 32) {
      ASSERT_EQ(result, host_add(a, b).value_or(result)) << std::hex << a << " + " << b;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Types, Sums, testing::ValuesIn(kFloats),
                         [](const auto& type) { return std::string(type.param.name); });

TEST_P(Sums, OfCorners) {
  const std::vector<std::uint32_t> corners = format().corners();
  EXPECT_GE(corners.size(), 270U);
  for (const std::uint32_t a : corners) {
    for (const std::uint32_t b : corners) push(a, b);
    flush();
  }
}

TEST_P(Sums, AreRoundedToNearestEven) {
  const int m = format().mantissa_bits;
  const std::uint32_t one = static_cast<std::uint32_t>(format().bias()) << m;
  const std::uint32_t half_place = one - (static_cast<std::uint32_t>(m + 1) << m);
  const std::uint32_t largest = format().infinity() - 1;
  const std::uint32_t half_of_largest =
      largest - (static_cast<std::uint32_t>(m + 1) << m) - ((1U << m) - 1);
  struct Case {
    std::uint32_t a, b, sum;
  };
  const std::vector<Case> cases{
      {one, half_place, one},                                  // tie, down to even
      {one + 1, half_place, one + 2},                          // tie, up to even
      {one, half_place + 1, one + 1},                          // above a tie
      {one + 1, half_place - 1, one + 1},                      // below a tie
      {one + (1U << m) - 1, half_place, one + (1U << m)},      // tie, up to a power of two
      {one, (half_place - (1U << m)) | format().sign(), one},  // tie below a power of two
      {one, (half_place - (1U << m) + 1) | format().sign(), one - 1},
      {largest, half_of_largest, format().infinity()},  // tie, up to infinity
      {largest, half_of_largest - 1, largest},
      {largest, largest, format().infinity()},
      {1, 1, 2},                                      // subnormals are exact
      {(1U << m) - 1, 1, 1U << m},                    // up to the smallest normal number
      {1U << m, 1 | format().sign(), (1U << m) - 1},  // and down
      {one, one | format().sign(), 0},                // exact zeros are positive
      {format().sign(), format().sign(), format().sign()},
      {0, format().sign(), 0},
      {format().infinity(), format().infinity() | format().sign(),
       format().infinity() | format().sign() | format().quiet()},
  };
  for (const auto& [a, b, sum] : cases) {
    ASSERT_EQ(format().add(a, b), sum) << std::hex << a << " + " << b;
    ASSERT_EQ(format().add(b, a), sum) << std::hex << b << " + " << a;
    push(a, b);
    push(b, a);
    push(a ^ format().sign(), b ^ format().sign());
  }
  flush();
}

TEST_P(Sums, OfRandomNumbers) {
  std::mt19937_64 random{20};
  const int m = format().mantissa_bits;
  const std::uint32_t mask = format().sign() * 2 - 1;
  const int pairs = format().width() == 32 ? 10'000'000 : 5'000'000;
  for (int i = 0; i < pairs; ++i) {
    const std::uint64_t bits = random();
    const auto a = static_cast<std::uint32_t>(bits) & mask;
    auto b = static_cast<std::uint32_t>(bits >> 32) & mask;
    const std::uint64_t choice = random();
    if (i % 3 == 1) {  // exponents as close as matters
      const auto apart = static_cast<std::uint32_t>(choice % (2 * m + 9)) - (m + 4);
      b = (b & ~format().infinity()) | ((a + (apart << m)) & format().infinity());
    } else if (i % 3 == 2) {  // cancellation: the other sign, and few other bits
      b = a ^ format().sign() ^ (b & mask & ((2U << (choice % m)) - 1));
    }
    push(a, b);
  }
  flush();
}

TEST_P(Sums, OfEverything) {
  if (std::getenv("MULTITREE_EXHAUSTIVE") == nullptr || format().width() == 32) {
    GTEST_SKIP() << "16-bit types with MULTITREE_EXHAUSTIVE=1 only: minutes";
  }
  by_hand_ = false;
  for (std::uint32_t a = 0; a < 65536; ++a) {
    for (std::uint32_t b = 0; b < 65536; b += 2) {
      if (b % 8 == 0) {
        a_.push_back({a * 0x10001, a * 0x10001, a * 0x10001, a * 0x10001});
        b_.emplace_back();
      }
      b_.back()[b / 2 % 4] = b | ((b + 1) << 16);
    }
    flush();
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Int32, Wraps) {
  Unit<Vreduce_unit> unit;
  std::mt19937 random{4};
  const auto flit = [&] {
    Flit result;
    for (std::uint32_t& word : result) word = static_cast<std::uint32_t>(random());
    return result;
  };
  std::vector<Flit> a{{0x7fffffff, 0x80000000, 0xffffffff, 0}}, b{{1, 0x80000000, 1, 0}};
  for (int i = 0; i < 10'000; ++i) {
    a.push_back(flit());
    b.push_back(flit());
  }
  std::vector<Flit> result(a.size()), runtime(a.size());
  unit.add(Type::Int32, a, b, result);
  runtime::reduce(runtime.data(), a.data(), b.data(), 4 * a.size(), DataType::Int32,
                  runtime::ReduceOp::Sum);
  EXPECT_EQ(result[0], (Flit{0x80000000, 0, 0, 0}));
  EXPECT_TRUE(result == runtime);
}

}  // namespace
}  // namespace multitree::rtl
