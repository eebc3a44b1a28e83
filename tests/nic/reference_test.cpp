// SPDX-License-Identifier: BSD-3-Clause
#include "nic/machine/reference.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::make_inputs;
using nic::Memory;

// Otherwise a wrong order of sums would go unnoticed.
TEST(Inputs, SumsDependOnTheOrder) {
  const Memory memory = make_inputs(3, 1000);
  std::size_t different = 0;
  for (std::size_t e = 0; e < 1000; ++e) {
    const float a = memory[0][e], b = memory[1][e], c = memory[2][e];
    EXPECT_LE(std::abs(a), 1);
    different += (a + b) + c != (a + c) + b;
  }
  EXPECT_GT(different, 100U);
}

TEST(Inputs, AreTheSameEveryTimeAndOfEachRankItsOwn) {
  EXPECT_EQ(make_inputs(4, 100), make_inputs(4, 100));
  const Memory memory = make_inputs(2, 100);
  EXPECT_NE(memory[0], memory[1]);
  EXPECT_TRUE(make_inputs(2, 0).front().empty());
}

// Against sums in double precision, which know no order.
TEST(RunSchedule, AddsEachInputOnce) {
  const Topology topology = make_topology("torus:4x4");
  for (const char* algorithm : {"multitree", "ring", "recursive-doubling"}) {
    const Schedule schedule = make_schedule(algorithm, topology);
    Memory memory = make_inputs(16, 16 * 8);
    const Memory inputs = memory;
    nic::run_schedule(schedule, memory);
    for (std::size_t e = 0; e < 16 * 8; ++e) {
      double sum = 0;
      for (const auto& input : inputs) sum += static_cast<double>(input[e]);
      for (const auto& result : memory) EXPECT_NEAR(static_cast<double>(result[e]), sum, 1e-5);
    }
  }
}

TEST(FindDifference, NamesTheFirstAndComparesBits) {
  const Topology topology = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", topology);
  const Memory expected(4, std::vector<float>(8, 0.5F));
  Memory got = expected;
  EXPECT_EQ(nic::find_difference(schedule, expected, got), "");
  got[2][5] = 0.25F;
  got[3][1] = 0;
  EXPECT_EQ(nic::find_difference(schedule, expected, got),
            "rank 2, element 5: expected 0.5, got 0.25");
  Memory zeros(4, std::vector<float>(8, 0.0F)), minus = zeros;
  minus[0][0] = -0.0F;
  EXPECT_THAT(nic::find_difference(schedule, zeros, minus), testing::StartsWith("rank 0"));
}

// A rank of a reduce-scatter is to have its own part only.
TEST(FindDifference, LooksAtWhatRanksMustEndWith) {
  const Topology topology = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", topology, Collective::ReduceScatter);
  const Memory expected(4, std::vector<float>(8, 1.0F));
  Memory got = expected;
  got[1][0] = 2;  // of rank 0's part
  EXPECT_EQ(nic::find_difference(schedule, expected, got), "");
  got[1][2] = 2;
  EXPECT_NE(nic::find_difference(schedule, expected, got), "");
}

}  // namespace
}  // namespace multitree
