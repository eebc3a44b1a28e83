// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whole networks when memory is slow, when ranks are late, and one collective after the other.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "machine.hpp"
#include "rtl/sim/run.hpp"

namespace multitree::rtl::test {
namespace {

constexpr std::uint64_t kMost = 100'000;

std::string ends_well(Machine& machine) {
  std::string report;
  const std::vector<End> ends = machine.ends();
  for (std::size_t r = 0; r < ends.size(); ++r) {
    if (ends[r].errors != 0) {
      report += "rank " + std::to_string(r) + ": " + describe_errors(ends[r].errors) + "; ";
    } else if (!ends[r].done) {
      report += "rank " + std::to_string(r) + " is not done; ";
    }
  }
  return report + machine.wrong(ends);
}

/// Refuses requests, `often` of 256 of each kind, or in long pauses.
void refuse(Network& network, std::uint64_t seed, unsigned often, bool pauses) {
  network.stalls = [random = std::mt19937_64(seed), often, pauses,
                    cycle = std::uint64_t{0}](Rank rank) mutable {
    std::uint32_t bits = 0;
    const std::uint64_t block = pauses ? ++cycle / 256 : 0;
    for (unsigned b = 0; b < 5 * Network::kPorts; ++b) {
      if (pauses) {
        // Pauses of one kind of request at a time.
        if ((block + index(rank)) % 7 == b % 5 && random() % 256 < 2 * often) bits |= 1U << b;
      } else if (random() % 256 < often) {
        bits |= 1U << b;
      }
    }
    return bits;
  };
}

struct Case {
  const char* topology;
  const char* algorithm;
  bool packets, lockstep;
  bool shares = false;  ///< two ports a reduction unit
};

class Networks : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static Scenario scenario(HardwareType type, std::uint64_t bytes) {
    const Case& c = GetParam();
    Scenario s{.topology = c.topology, .algorithm = c.algorithm, .bytes = bytes, .type = type};
    s.parameters.flow_control = c.packets ? nic::FlowControl::Packet : nic::FlowControl::Message;
    s.parameters.issue = c.lockstep ? nic::Issue::Lockstep : nic::Issue::Dependency;
    s.parameters.packet_bytes = 64;
    s.parameters.ports_per_unit = c.shares ? 2 : 1;
    return s;
  }
};

constexpr HardwareType kTypes[] = {HardwareType::Int32, HardwareType::Fp32, HardwareType::Bf16,
                                   HardwareType::Fp16};

TEST_P(Networks, SumsAreRightHoweverSlowMemoryIs) {
  std::uint64_t seed = 0;
  for (const HardwareType type : kTypes) {
    // Pieces with a last word that is not full.
    const Plan plan(scenario(type, 1000 + 52 * static_cast<unsigned>(type)));
    for (const unsigned often : {20U, 100U, 200U}) {
      for (const bool pauses : {false, true}) {
        Machine machine(plan);
        refuse(machine.network(), ++seed, often, pauses);
        machine.start();
        machine.run(kMost);
        ASSERT_EQ(ends_well(machine), "") << "type " << static_cast<int>(type) << ", seed " << seed;
      }
    }
  }
}

TEST_P(Networks, AddersOfTheHardwareAgree) {
  for (const HardwareType type : kTypes) {
    const Plan plan(scenario(type, 600));
    Machine machine(plan, Adders::Hardware);
    refuse(machine.network(), static_cast<unsigned>(type), 64, false);
    machine.start();
    machine.run(kMost);
    ASSERT_EQ(ends_well(machine), "") << "type " << static_cast<int>(type);
  }
}

// AXI4-Stream lets a slave wait for TVALID before it says TREADY, and so nobody may wait for
// TREADY.
TEST_P(Networks, MemoryMayBeReadyOnlyAfterItWasAsked) {
  for (const bool stalls : {false, true}) {
    const Plan plan(scenario(HardwareType::Fp32, 600));
    Machine machine(plan, plan.parameters.ports_per_unit > 1 ? Adders::Function : Adders::Hardware);
    machine.network().set_shy(true);
    if (stalls) refuse(machine.network(), 5, 100, false);
    machine.start();
    machine.run(kMost);
    ASSERT_EQ(ends_well(machine), "") << (stalls ? "with stalls" : "without stalls");
  }
}

TEST_P(Networks, OneCollectiveAfterTheOtherWithTheSameTables) {
  const Plan plan(scenario(HardwareType::Fp32, 1000));
  Machine machine(plan);
  machine.start();
  machine.run(kMost);
  ASSERT_EQ(ends_well(machine), "");
  for (int again = 0; again < 3; ++again) {
    if (again == 2) refuse(machine.network(), 7, 64, false);
    machine.arm();
    machine.go();
    machine.run(kMost);
    ASSERT_EQ(ends_well(machine), "");
  }
  Buffers buffers = plan.inputs;
  const RunResult result = run_again(machine.network(), plan.collective, buffers, kMost);
  EXPECT_TRUE(result.errors.empty());
  EXPECT_GT(result.cycles, 0);
  EXPECT_EQ(find_difference(plan.schedule, HardwareType::Fp32, plan.sums, buffers), "");
}

TEST_P(Networks, RanksThatStartLateMakeItLateNotWrong) {
  const Plan plan(scenario(HardwareType::Int32, 1000));
  for (std::uint32_t late = 0; late < plan.schedule.ranks; ++late) {
    Machine machine(plan);
    machine.load(plan.writes);
    machine.arm();
    for (std::uint32_t r = 0; r < plan.schedule.ranks; ++r) {
      if (r != late) machine.write(Rank{r}, go());
    }
    machine.run_cycles(1000);
    ASSERT_FALSE(machine.all_done());
    machine.write(Rank{late}, go());
    machine.run(kMost);
    ASSERT_EQ(ends_well(machine), "") << "rank " << late;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rtl, Networks,
    testing::Values(Case{"torus:2x2?lat=10ns", "multitree", false, false},
                    Case{"torus:2x2?lat=10ns", "multitree", true, true},
                    Case{"ring:3?lat=2ns", "multitree", true, false},
                    Case{"mesh:2x3?lat=5ns", "multitree", false, true},
                    Case{"mesh:2x3?lat=5ns", "ring", true, false},
                    Case{"star:4?lat=10ns", "multitree", true, false},
                    Case{"hypercube:3?lat=10ns", "recursive-doubling", false, false},
                    Case{"hypercube:2?lat=30ns", "recursive-doubling", true, false},
                    Case{"torus:4x4?lat=10ns", "multitree", true, false},
                    Case{"torus:2x2?lat=10ns", "multitree", false, false, true},
                    Case{"mesh:2x3?lat=5ns", "multitree", true, true, true},
                    Case{"hypercube:2?lat=30ns", "recursive-doubling", true, false, true}),
    [](const auto& test) {
      std::string name = std::string(test.param.topology) + "_" + test.param.algorithm;
      if (test.param.packets) name += "_packets";
      if (test.param.lockstep) name += "_lockstep";
      if (test.param.shares) name += "_shared_units";
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

}  // namespace
}  // namespace multitree::rtl::test
