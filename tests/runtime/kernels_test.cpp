// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every instruction set's kernels give the bits of the portable ones, for any operands.
#include "runtime/kernels/kernels_internal.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime::kernels {
namespace {

/// Bit patterns at random, with many NaNs, infinities, zeros and subnormals among them.
std::vector<std::byte> random_bits(std::mt19937_64& random, DataType type, std::size_t count) {
  std::vector<std::byte> bytes(count * size_of(type));
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  const std::size_t width = size_of(type);
  for (std::size_t i = 0; i < count; ++i) {
    // All exponent bits, or none of them: the special values of every format.
    const auto kind = random() % 6;
    std::byte* const top = bytes.data() + (i + 1) * width - 1;
    if (kind == 0) {
      *top |= std::byte{0x7f};
      if (width > 1) top[-1] |= std::byte{0xf0};
    } else if (kind == 1) {
      *top &= std::byte{0x80};
      if (width > 1) top[-1] &= std::byte{0x0f};
      if (random() % 2 == 0) std::memset(bytes.data() + i * width, 0, width);
    }
  }
  return bytes;
}

std::vector<ReduceOp> ops_of(DataType type) {
  std::vector<ReduceOp> ops(all_reduce_ops().begin(), all_reduce_ops().end());
  if (is_integer(type)) ops.insert(ops.end(), logic_ops().begin(), logic_ops().end());
  ops.push_back(ReduceOp::PreMulSum);
  return ops;
}

class EverySet : public ::testing::TestWithParam<DataType> {};

TEST_P(EverySet, HasThePortableBits) {
  const DataType type = GetParam();
  const auto row = static_cast<std::size_t>(type);
  std::mt19937_64 random(11);
  for (const ReduceOp op : ops_of(type)) {
    const auto column = static_cast<std::size_t>(op);
    for (std::size_t round = 0; round < 60; ++round) {
      const std::size_t inputs = round < 16 ? round + 1 : 1 + random() % kMaxInputs;
      const std::size_t count = round < 50 ? random() % 200 : 1000 + random() % 3000;
      const std::size_t offset = random() % 64;  // in bytes: no alignment is asked for
      std::vector<std::vector<std::byte>> operands(inputs);
      std::vector<const void*> pointers;
      for (auto& operand : operands) {
        operand.resize(offset);
        const auto bits = random_bits(random, type, count);
        operand.insert(operand.end(), bits.begin(), bits.end());
        operand.push_back(std::byte{0x77});
        pointers.push_back(operand.data() + offset);
      }
      const std::size_t bytes = count * size_of(type);
      std::vector<std::byte> want(bytes + 1, std::byte{0x55});
      kPortable.combine[row][column](want.data(), pointers.data(), inputs, count);
      for (const Set* set : usable()) {
        std::vector<std::byte> got(offset + bytes + 1, std::byte{0x55});
        set->combine[row][column](got.data() + offset, pointers.data(), inputs, count);
        ASSERT_EQ(std::memcmp(got.data() + offset, want.data(), bytes + 1), 0)
            << set->name << ' ' << to_string(op) << ' ' << inputs << " inputs of " << count;
        // In place of any one operand.
        const std::size_t place = random() % inputs;
        std::vector<std::byte> copy = operands[place];
        std::vector<const void*> aliased = pointers;
        aliased[place] = copy.data() + offset;
        set->combine[row][column](copy.data() + offset, aliased.data(), inputs, count);
        ASSERT_EQ(std::memcmp(copy.data() + offset, want.data(), bytes), 0) << set->name;
        ASSERT_EQ(copy.back(), std::byte{0x77});
      }
    }
  }
}

/// Two at a time, as messages bring them, is the same as all in one pass; also of more than a pass.
TEST_P(EverySet, OnePassIsTheChainOfPairs) {
  const DataType type = GetParam();
  std::mt19937_64 random(13);
  for (const std::size_t inputs : {1U, 2U, 7U, 16U, 17U, 40U}) {
    for (const ReduceOp op : ops_of(type)) {
      const std::size_t count = 5000;
      std::vector<std::vector<std::byte>> operands;
      std::vector<const void*> pointers;
      for (std::size_t i = 0; i < inputs; ++i) operands.push_back(random_bits(random, type, count));
      for (const auto& operand : operands) pointers.push_back(operand.data());
      std::vector<std::byte> want = operands[0], got(want.size());
      for (std::size_t i = 1; i < inputs; ++i) reduce(want.data(), pointers[i], count, type, op);
      reduce(got.data(), pointers, count, type, op);
      ASSERT_EQ(got, want) << inputs << ' ' << to_string(op);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EverySet, ::testing::ValuesIn(all_data_types()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

/// All pairs of small numbers: instructions for bfloat16 take subnormals for zero.
TEST(SmallBfloats, HaveThePortableSumsAndProducts) {
  constexpr auto row = static_cast<std::size_t>(DataType::BFloat16);
  std::vector<std::uint16_t> small;
  for (std::uint16_t magnitude = 0; magnitude < 12 << 7; ++magnitude) {
    small.push_back(magnitude);
    small.push_back(magnitude | 0x8000U);
  }
  std::vector<std::uint16_t> want(small.size()), got(small.size());
  for (const std::uint16_t one : small) {
    const std::vector<std::uint16_t> same(small.size(), one);
    const void* in[] = {same.data(), small.data()};
    for (const std::size_t op : {0U, 1U}) {
      kPortable.combine[row][op](want.data(), in, 2, small.size());
      for (const Set* set : usable()) {
        set->combine[row][op](got.data(), in, 2, small.size());
        ASSERT_EQ(got, want) << set->name << ", " << one << " and others";
      }
    }
  }
}

/// The rule itself, by hand: of two NaNs the first, quiet; inf - inf is the negative quiet NaN.
TEST(NanOperands, TheFirstIsKept) {
  const auto sum = [](const Set& set, std::uint32_t a, std::uint32_t b, std::size_t count) {
    std::vector<std::uint32_t> x(count, a), y(count, b);
    const void* in[] = {x.data(), y.data()};
    set.combine[static_cast<std::size_t>(DataType::Float32)][0](x.data(), in, 2, count);
    for (const std::uint32_t each : x) EXPECT_EQ(each, x[0]) << set.name;
    return x[0];
  };
  for (const Set* set : usable()) {
    for (const std::size_t count : {1U, 15U, 64U, 67U}) {
      EXPECT_EQ(sum(*set, 0x7f800001, 0xffc12345, count), 0x7fc00001U) << set->name;
      EXPECT_EQ(sum(*set, 0xffc12345, 0x7f800001, count), 0xffc12345U) << set->name;
      EXPECT_EQ(sum(*set, 0x3f800000, 0xff800007, count), 0xffc00007U) << set->name;
      EXPECT_EQ(sum(*set, 0x7f800000, 0xff800000, count), 0xffc00000U) << set->name;
    }
  }
}

TEST(Stream, CopiesAnyLengthAnywhere) {
  std::mt19937_64 random(17);
  for (const Set* set : usable()) {
    for (int round = 0; round < 200; ++round) {
      const std::size_t bytes = random() % 2000, from = random() % 70, to = random() % 70;
      std::vector<std::byte> source(from + bytes), target(to + bytes + 1, std::byte{9});
      for (auto& byte : source) byte = static_cast<std::byte>(random());
      set->stream(target.data() + to, source.data() + from, bytes);
      ASSERT_EQ(std::memcmp(target.data() + to, source.data() + from, bytes), 0) << set->name;
      ASSERT_EQ(target.back(), std::byte{9});
      for (std::size_t i = 0; i < to; ++i) ASSERT_EQ(target[i], std::byte{9});
    }
  }
}

}  // namespace
}  // namespace multitree::runtime::kernels
