// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole networks whose memories are behind AXI4: the runtime's sums at any latency, and errors
/// told.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"
#include "rtl/sim/run.hpp"

namespace multitree::rtl::test {
namespace {

constexpr std::uint64_t kMost = 400'000;

Scenario scenario_of(const char* topology, const char* algorithm, HardwareType type,
                     std::uint64_t bytes) {
  Scenario s{.topology = topology, .algorithm = algorithm, .bytes = bytes, .type = type};
  s.watchdog = 100'000;  // cycles without a flit are many where memory is slow
  return s;
}

std::string ends_well(Machine& machine) {
  std::string report;
  const std::vector<End> ends = machine.ends();
  for (std::size_t r = 0; r < ends.size(); ++r) {
    if (ends[r].errors != 0) {
      report += fmt::format("rank {}: {}; ", r, describe_errors(ends[r].errors));
    } else if (!ends[r].done) {
      report += fmt::format("rank {} is not done; ", r);
    }
  }
  return report + machine.wrong(ends);
}

struct Case {
  const char* topology;
  const char* algorithm;
  bool packets;
  std::uint32_t ports;            ///< of AXI4
  std::uint32_t flit_bytes = 16;  ///< and of a word
};

class NetworksBehindAxi4 : public testing::TestWithParam<Case> {};

// Two runs: done is done only when all of the first is written, and the second reads what it finds.
TEST_P(NetworksBehindAxi4, SumsAreRightAtAnyLatency) {
  const Case& c = GetParam();
  std::uint64_t seed = 0;
  for (const std::uint32_t latency : {1U, 20U, 100U, 400U}) {
    for (const std::uint32_t stalls : {0U, 128U}) {
      ++seed;
      SCOPED_TRACE(fmt::format("latency {}, stalls {}, seed {}", latency, stalls, seed));
      const HardwareType type = seed % 2 == 0 ? HardwareType::Fp32 : HardwareType::Bf16;
      Scenario scenario = scenario_of(c.topology, c.algorithm, type, 1000 + 52 * seed);
      scenario.parameters.flit_bytes = c.flit_bytes;
      if (c.flit_bytes > 16) scenario.parameters.send_words = scenario.parameters.add_words = 512;
      if (c.packets) scenario.parameters.flow_control = nic::FlowControl::Packet;
      scenario.parameters.packet_bytes = 64;
      const Plan plan(scenario);
      const AxiTiming timing{
          .latency = latency, .jitter = latency / 2, .stalls = stalls, .seed = seed};
      Machine machine(plan, Adders::Function, {.ports = c.ports, .timing = timing});
      machine.start();
      machine.run(kMost);
      ASSERT_EQ(ends_well(machine), "");
      machine.arm();
      machine.go();
      machine.run(kMost);
      ASSERT_EQ(ends_well(machine), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rtl, NetworksBehindAxi4,
    testing::Values(Case{"torus:2x2?lat=10ns", "multitree", false, 1},
                    Case{"torus:2x2?lat=10ns", "multitree", true, 4},
                    Case{"mesh:2x3?lat=5ns", "multitree", false, 4},
                    Case{"ring:3?lat=2ns", "ring", true, 1},
                    Case{"hypercube:3?lat=10ns", "recursive-doubling", false, 1},
                    Case{"star:4?lat=10ns", "multitree", true, 4},
                    Case{"torus:2x2?lat=10ns&bw=32GB/s", "multitree", true, 4, 32},
                    Case{"mesh:1x3?lat=5ns&bw=32GB/s", "ring", false, 4, 32},
                    Case{"torus:2x2?lat=10ns&bw=64GB/s", "multitree", false, 4, 64},
                    Case{"mesh:2x3?lat=5ns&bw=64GB/s", "multitree", true, 4, 64}),
    [](const auto& test) {
      std::string name =
          fmt::format("{}_{}_{}", test.param.topology, test.param.algorithm, test.param.ports);
      std::ranges::replace_if(
          name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
      return name;
    });

/// An all-reduce whose memory takes 200 cycles, behind so many ports of AXI4; 0: behind none, and
/// it accepts so many words in a cycle.
struct Use {
  std::uint64_t cycles = 0;
  std::uint64_t words = 0;  ///< that rank 0's busiest port has read
};
Use use_of(std::uint32_t ports, std::uint32_t words = 0) {
  Scenario scenario = scenario_of("torus:2x2?lat=10ns", "multitree", HardwareType::Fp32, 128 << 10);
  scenario.parameters.memory_cycles = 200;
  scenario.parameters.memory_ports = words;
  scenario.parameters.send_words = scenario.parameters.add_words = 512;
  const Plan plan(scenario);
  Machine machine(plan, Adders::Function, {.ports = ports, .timing = {.latency = 200}});
  machine.start();
  const std::uint64_t begin = machine.network().cycle();
  machine.run(kMost);
  Use use{.cycles = machine.network().cycle() - begin};
  EXPECT_EQ(ends_well(machine), "");
  for (std::uint32_t p = 0; p < ports; ++p) {
    use.words = std::max(use.words, machine.network().memory(Rank{0}).axi(p).read_words());
  }
  return use;
}

// A port reads a word a cycle, less than the two links of a rank ask for: it is what limits, and is
// nearly always busy.
TEST(MemoryPorts, AreBusyWhereTheyLimit) {
  const Use best = use_of(0);
  for (const std::uint32_t ports : {1U, 4U}) {
    const Use use = use_of(ports), shared = use_of(0, ports);
    fmt::print(
        "{} ports: {} cycles, {} without a limit, {} of as many words that all share; {} words "
        "read\n",
        ports, use.cycles, best.cycles, shared.cycles, use.words);
    EXPECT_GT(use.cycles, best.cycles);
    EXPECT_GE(shared.cycles, best.cycles);
    // One port is as good as one word in a cycle, but for its bursts. Of more each serves its own.
    if (ports == 1) {
      EXPECT_NEAR(static_cast<double>(use.cycles), static_cast<double>(shared.cycles),
                  static_cast<double>(shared.cycles) / 10);
    } else {
      EXPECT_LT(shared.cycles, use.cycles);
    }
    EXPECT_LT(use.cycles, 3 * best.cycles);
    EXPECT_GT(100 * use.words, 85 * use.cycles);
  }
}

// The rank whose memory answers with an error says so and is not done; nobody is done with a wrong
// sum.
TEST(MemoryErrors, AreErrorsOfTheInterface) {
  for (const bool reads : {true, false}) {
    for (const std::uint64_t number : {0U, 3U, 20U}) {
      SCOPED_TRACE(fmt::format("{} {}", reads ? "read" : "write", number));
      Scenario scenario = scenario_of("torus:2x2?lat=10ns", "multitree", HardwareType::Fp32, 4000);
      scenario.watchdog = 3000;
      const Plan plan(scenario);
      AxiTiming timing{.latency = 20, .jitter = 10, .stalls = 20};
      (reads ? timing.bad_read : timing.bad_write) = number;
      Machine machine(plan, Adders::Function, {.ports = 1, .timing = timing});
      machine.start();
      machine.run(kMost);
      const std::vector<End> ends = machine.ends();
      EXPECT_EQ(machine.wrong(ends), "");
      for (const End& end : ends) {
        EXPECT_FALSE(end.done);
        EXPECT_TRUE(end.has(kMemory)) << describe_errors(end.errors);
        EXPECT_EQ(end.first_error(), kMemory);
      }
    }
  }
}

}  // namespace
}  // namespace multitree::rtl::test
