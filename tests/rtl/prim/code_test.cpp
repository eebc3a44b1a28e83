// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_prio_enc, and mt_onehot in it, and mt_parity: bit by bit.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>

#include "Vparity_13_5.h"
#include "Vparity_32_4.h"
#include "Vparity_64_1.h"
#include "Vprio_1.h"
#include "Vprio_5.h"
#include "Vprio_64.h"
#include "Vprio_8.h"
#include "bench.hpp"

namespace multitree::rtl {
namespace {

/// Many numbers of all magnitudes.
template <typename Visit>
void numbers(unsigned bits, Visit visit) {
  for (unsigned i = 0; i < bits; ++i) {
    visit(std::uint64_t{1} << i);
  }
  for (std::uint64_t i = 0; i < 256; ++i) {
    visit(i & low_bits(bits));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    visit(random() << random() % bits & low_bits(bits));
  }
}

template <typename Model>
void lowest_bit(unsigned n) {
  Bench<Model> bench;
  numbers(n, [&](std::uint64_t request) {
    put(bench->req_i, request);
    bench.settle();
    ASSERT_EQ(bench->any_o, request != 0);
    ASSERT_EQ(bench->onehot_o, request & -request);
    ASSERT_EQ(bench->idx_o, request == 0 ? 0 : std::countr_zero(request));
  });
}

TEST(PriorityEncoder, FindsTheLowestBit) {
  lowest_bit<Vprio_1>(1);
  lowest_bit<Vprio_5>(5);
  lowest_bit<Vprio_8>(8);
  lowest_bit<Vprio_64>(64);
}

template <typename Model>
void interleaved(unsigned width, unsigned groups) {
  Bench<Model> bench;
  numbers(width, [&](std::uint64_t data) {
    std::uint64_t expected = 0;
    for (unsigned i = 0; i < width; ++i) {
      expected ^= (data >> i & 1) << i % groups;
    }
    put(bench->data_i, data);
    bench.settle();
    ASSERT_EQ(bench->parity_o, expected);
  });
}

TEST(Parity, IsTheSumOfEveryGroup) {
  interleaved<Vparity_13_5>(13, 5);
  interleaved<Vparity_32_4>(32, 4);
  interleaved<Vparity_64_1>(64, 1);
}

}  // namespace
}  // namespace multitree::rtl
