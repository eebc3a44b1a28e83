// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Switches that add and copy in hardware: what their memories hold before does not matter, and
/// what they make are the sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/program/switches.hpp"
#include "rtl/sim/cosim.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint64_t kElements = 1536;

/// Sums of whole numbers, whatever their order.
std::vector<std::byte> sum_of(const Buffers& buffers, std::uint32_t ranks) {
  std::vector<std::uint32_t> sums(kElements, 0), one(kElements);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::memcpy(one.data(), buffers[r].data(), buffers[r].size());
    for (std::uint64_t e = 0; e < kElements; ++e) sums[e] += one[e];
  }
  std::vector<std::byte> bytes(kElements * sizeof(std::uint32_t));
  std::memcpy(bytes.data(), sums.data(), bytes.size());
  return bytes;
}

class InNetworkOf : public testing::TestWithParam<const char*> {};

// Twice on the same hardware: from memories of switches full of ones, then from what the first run
// has left there.
TEST_P(InNetworkOf, SumsAreThoseOfTheRanksAlone) {
  const Topology topology = make_topology(GetParam());
  const std::uint32_t ranks = topology.num_ranks();
  const nic::SwitchesAsRanks made =
      nic::switches_as_ranks(make_schedule("in-network?segments=6", topology), topology, kElements);
  const nic::Parameters parameters = hardware_parameters({}, made.schedule, HardwareType::Int32);
  const nic::Tables tables =
      nic::compile_tables(made.schedule, made.topology, {.elements = kElements});
  const Collective collective{
      .tables = tables, .parameters = parameters, .type = HardwareType::Int32, .step_lengths = {}};
  Network network(made.topology, parameters, kElements * sizeof(std::uint32_t), Adders::Hardware);
  const Buffers inputs = make_inputs(made.schedule.ranks, kElements, HardwareType::Int32);
  const std::vector<std::byte> expected = sum_of(inputs, ranks);
  Buffers buffers = inputs;
  for (std::uint32_t s = ranks; s < buffers.size(); ++s) {
    std::ranges::fill(buffers[s], std::byte{0xff});
  }
  for (const bool is_first : {true, false}) {
    std::copy(inputs.begin(), inputs.begin() + ranks, buffers.begin());
    const RunResult result = is_first ? run_collective(network, collective, buffers, 100'000)
                                      : run_again(network, collective, buffers, 100'000);
    for (const std::string& error : result.errors) ADD_FAILURE() << error;
    for (std::uint32_t r = 0; r < ranks; ++r) EXPECT_EQ(buffers[r], expected) << r;
    EXPECT_GT(result.cycles, kElements / 4);  // a flit each on a link
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, InNetworkOf,
                         testing::Values("star:4?switches=add,copy", "star:9?switches=add,copy",
                                         "fattree:2x3?switches=add,copy",
                                         "bigraph:2x4?switches=add,copy",
                                         "fattree:2x2?switches=leaf1:add,leaf1:copy"));

// The same schedule twice in the float types, whose sums depend on the order: the same bits, those
// of the schedule.
TEST(InNetworkCosimulation, SumsOfEveryTypeAreThoseOfTheSchedule) {
  const Topology topology = make_topology("star:4?switches=add,copy");
  const Schedule schedule = make_schedule("in-network?segments=5", topology);
  for (const HardwareType type :
       {HardwareType::Int32, HardwareType::Fp32, HardwareType::Bf16, HardwareType::Fp16}) {
    Buffers one = make_inputs(4, 2048 / bytes_of(type), type), other = one;
    for (Buffers* buffers : {&one, &other}) {
      const CosimResult result =
          cosimulate(schedule, topology, 2048, {}, {.type = type, .buffers = buffers});
      EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
    }
    EXPECT_EQ(one.size(), 4U);
    EXPECT_EQ(one, other);
    for (const std::vector<std::byte>& buffer : one) EXPECT_EQ(buffer, one.front());
  }
}

// Links that lose, between switches that add and copy.
TEST(InNetworkCosimulation, LinksMayLose) {
  const Topology topology = make_topology("fattree:2x2?switches=add,copy&lat=10ns");
  const CosimResult result = cosimulate(make_schedule("in-network?segments=8", topology), topology,
                                        16384, {}, {.link_errors = nic::LinkErrors{.rate = 0.01}});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
  EXPECT_GT(result.link_counts->bad, 0U);
}

// Twice as fast as ranks alone, and less than 3 % behind what links allow.
TEST(InNetworkCosimulation, IsAsFastAsItIsMeantToBe) {
  const auto cycles = [](const char* spec, const char* algorithm) {
    const Topology topology = make_topology(spec);
    const CosimResult result = cosimulate(make_schedule(algorithm, topology), topology, 512 * 1024,
                                          {}, {.adders = Adders::Function, .compare = false});
    EXPECT_EQ(result.wrong, "");
    return result.hardware.cycles;
  };
  constexpr std::uint64_t kFlits = 512 * 1024 / 16;
  const std::uint64_t here =
      cycles("fattree:2x2?switches=add,copy&lat=20ns", "in-network?segments=256");
  EXPECT_LE(here, kFlits * 103 / 100);
  EXPECT_GE(cycles("fattree:2x2?lat=20ns", "allreduce-optimal"), here * 14 / 10);
}

}  // namespace
}  // namespace multitree::rtl
