// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact sums by the kernels: as defined, as exact as said, the same by every instruction set.
#include "runtime/kernels/exact.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "exact_support.hpp"
#include "runtime/kernels/kernels_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

/// All that a sum goes through at a rank, for the contributions of as many.
Bytes sum_by_kernels(const std::vector<Bytes>& inputs, ExactForm form) {
  form.count = inputs[0].size() / size_of(form.type);
  const std::size_t length = size_of(form.whole_type());
  Bytes most(form.exponents() * size_of(form.exponent_type()));
  for (const Bytes& input : inputs) {
    Bytes own(most.size());
    exponents_of(form, own.data(), input.data());
    const std::size_t step = size_of(form.exponent_type());
    for (std::size_t at = 0; at < most.size(); at += step) {
      std::uint16_t a = 0, b = 0;
      std::memcpy(&a, most.data() + at, step);
      std::memcpy(&b, own.data() + at, step);
      a = std::max(a, b);
      std::memcpy(most.data() + at, &a, step);
    }
  }
  std::vector<std::int64_t> sums(form.count);
  Bytes wholes(form.count * length);
  const auto read = [&](std::size_t i) {
    if (length == 8) {
      std::int64_t value = 0;
      std::memcpy(&value, wholes.data() + i * 8, 8);
      return value;
    }
    std::int32_t value = 0;
    std::memcpy(&value, wholes.data() + i * 4, 4);
    return std::int64_t{value};
  };
  for (const Bytes& input : inputs) {
    to_whole(form, wholes.data(), input.data(), most.data());
    for (std::size_t i = 0; i < form.count; ++i) sums[i] += read(i);
  }
  for (std::size_t i = 0; i < form.count; ++i) {
    if (length == 4) {
      EXPECT_EQ(sums[i], static_cast<std::int32_t>(sums[i])) << "does not fit";
    }
    std::memcpy(wholes.data() + i * length, &sums[i], length);
  }
  Bytes result(inputs[0].size());
  from_whole(form, result.data(), wholes.data(), most.data());
  return result;
}

TEST(Exact, IsAsDefined) {
  for (const DataType type : kFloats) {
    for (const Summing summing : kExact) {
      for (const std::uint32_t ranks : {1U, 2U, 7U, 128U, 129U, 1000U}) {
        const int spread = type == DataType::Float16 ? 20 : 40;
        std::vector<Bytes> inputs;
        for (std::uint32_t r = 0; r < ranks; ++r)
          inputs.push_back(mixed_input(r, type, 197, spread));
        ASSERT_EQ(sum_by_kernels(inputs, exact_form(type, summing, ranks)),
                  sum_by_definition(inputs, type, summing))
            << to_string(type) << " " << to_string(summing) << " " << ranks;
      }
    }
  }
}

/// The largest numbers that there are, all of one sign, as many as fit.
TEST(Exact, HasRoomForAsManyAsItSays) {
  const std::pair<DataType, std::uint32_t> cases[] = {
      {DataType::Float32, 128}, {DataType::Float32, 129}, {DataType::Float64, 1024}};
  for (const auto& [type, ranks] : cases) {
    const ExactReference format(type);
    Bytes one(size_of(type));
    const long double most = type == DataType::Float64 ? 0x1.fffffffffffffp+900L : 0x1.fffffep+100L;
    format.put(one.data(), -most);
    const Bytes sum =
        sum_by_kernels(std::vector(ranks, one), exact_form(type, Summing::Elements, ranks));
    Bytes want(one.size());
    format.put(want.data(), -most * ranks);
    EXPECT_EQ(sum, want);
    format.put(one.data(), type == DataType::Float64 ? 0x1.fffffffffffffp+1023L : 0x1.fffffep+127L);
    const Bytes over =
        sum_by_kernels(std::vector(ranks, one), exact_form(type, Summing::Elements, ranks));
    EXPECT_EQ(format.get(over.data()), std::numeric_limits<long double>::infinity());
  }
  EXPECT_THROW(exact_form(DataType::Float64, Summing::Blocks, 1025), Error);
  EXPECT_THROW(exact_form(DataType::Float32, Summing::Blocks, (1U << 20) + 1), Error);
}

/// Against the sum without any rounding.
TEST(Exact, IsOffByLessThanItSays) {
  const ExactReference format(DataType::Float32);
  constexpr std::uint32_t kRanks = 24;
  std::vector<Bytes> inputs;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    inputs.push_back(mixed_input(r, DataType::Float32, 4000, 30));
  }
  const Bytes sums =
      sum_by_kernels(inputs, exact_form(DataType::Float32, Summing::Elements, kRanks));
  long double worst = 0;
  for (std::size_t at = 0; at < sums.size(); at += sizeof(float)) {
    __int128 exact = 0;  // in units of 2^-60
    long double most = 0;
    for (const Bytes& input : inputs) {
      const long double value = format.get(input.data() + at);
      most = std::max(most, std::fabs(value));
      // What is below, subnormals, is far below the last place of anything else.
      exact += static_cast<__int128>(std::ldexp(value, 60));
    }
    const long double got = format.get(sums.data() + at);
    const long double error = std::fabs(got - std::ldexp(static_cast<long double>(exact), -60));
    const long double last = std::ldexp(1.0L, format.unit(most));
    const long double rounding = std::ldexp(0.5L, format.unit(got));
    ASSERT_LE(error, kRanks / 2.0L * last + rounding);
    worst = std::max(worst, error / last);
  }
  EXPECT_GT(worst, 0.5);  // the data can tell
}

TEST(Exact, TreatsWhatIsNotFiniteAsSumsDo) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  struct Special {
    float a, b, sum;
  };
  const Special cases[] = {{kInf, 1, kInf},  {-kInf, 3e38F, -kInf}, {kInf, -kInf, kNan},
                           {kNan, 1, kNan},  {-kNan, kInf, kNan},   {kInf, kInf, kInf},
                           {0, -0.0F, 0.0F}, {-0.0F, -0.0F, 0.0F},  {3e38F, 3e38F, kInf},
                           {1, 2, 3}};
  for (const std::uint32_t ranks : {2U, 200U}) {  // short and wide whole numbers
    for (const Special& one : cases) {
      std::vector<Bytes> inputs(ranks, Bytes(sizeof(float)));
      std::memcpy(inputs[0].data(), &one.a, sizeof one.a);
      std::memcpy(inputs[ranks - 1].data(), &one.b, sizeof one.b);
      const Bytes bytes =
          sum_by_kernels(inputs, exact_form(DataType::Float32, Summing::Elements, ranks));
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data(), sizeof bits);
      const auto want = std::bit_cast<std::uint32_t>(std::isnan(one.sum) ? kNan : one.sum);
      EXPECT_EQ(bits, want) << one.a << " + " << one.b;
    }
  }
  // The neighbours in its block cannot be told.
  std::vector<Bytes> inputs(2, Bytes(64 * sizeof(float)));
  std::memcpy(inputs[1].data() + 5 * sizeof(float), &kInf, sizeof kInf);
  const Bytes bytes = sum_by_kernels(inputs, exact_form(DataType::Float32, Summing::Blocks, 2));
  for (std::size_t i = 0; i < 64; ++i) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    if (i == 5) {
      EXPECT_EQ(value, kInf);
    } else {
      EXPECT_EQ(std::isnan(value), i < kExactBlock) << i;
    }
  }
}

TEST(Exact, EverySetHasThePortableBits) {
  std::mt19937_64 random(5);
  for (std::size_t type = 0; type < 4; ++type) {
    for (std::size_t wide = 0; wide < 2; ++wide) {
      for (std::size_t blocks = 0; blocks < 2; ++blocks) {
        const kernels::ExactCodec& portable = kernels::kPortable.exact[type][wide][blocks];
        for (int round = 0; round < 20; ++round) {
          const std::size_t count = random() % 300, offset = random() % 8;
          Bytes input(count * 8 + 16);
          for (std::byte& byte : input) byte = static_cast<std::byte>(random());
          const auto run = [&](const kernels::ExactCodec& codec) {
            Bytes exponents(count * 2 + 2), whole(count * 8 + 16), back(count * 8 + 16);
            codec.exponents(exponents.data(), input.data() + offset, count);
            codec.encode(whole.data() + offset, input.data() + offset, exponents.data(), count);
            codec.decode(back.data(), whole.data() + offset, exponents.data(), count);
            return std::tuple(exponents, whole, back);
          };
          for (const kernels::Set* const set : kernels::usable()) {
            ASSERT_EQ(run(set->exact[type][wide][blocks]), run(portable)) << set->name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace multitree::runtime::test
