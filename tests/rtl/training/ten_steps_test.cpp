// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ten steps of training with sums made by verilated interfaces: the parameters of real ranks, bit
/// by bit.
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "rtl/sim/cosim.hpp"
#include "tests/training/ten_steps.hpp"

namespace multitree::rtl {
namespace {

using training::TenSteps;

/// The C++ model is compared in every cycle.
void by_hardware(const training::Phase& phase, const Topology& topology, nic::Memory& memory) {
  Buffers buffers;
  for (const std::vector<float>& numbers : memory) {
    const auto bytes = std::as_bytes(std::span(numbers));
    buffers.emplace_back(bytes.begin(), bytes.end());
  }
  const CosimResult result = cosimulate(phase.image, phase.jobs, topology, {},
                                        {.adders = Adders::Hardware, .buffers = &buffers});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong
                               << (result.hardware.errors.empty() ? "" : result.hardware.errors[0]);
  for (std::size_t r = 0; r < memory.size(); ++r) {
    std::memcpy(memory[r].data(), buffers[r].data(), memory[r].size() * sizeof(float));
  }
}

class TenStepsOfHardware : public testing::TestWithParam<TenSteps> {};

TEST_P(TenStepsOfHardware, GiveTheParametersOfRealRanks) {
  EXPECT_EQ(training::train(GetParam(), by_hardware), training::digest_of_ranks(GetParam()));
}

std::vector<TenSteps> all_steps() {
  std::vector<TenSteps> all;
  for (const char* network : {"mesh:2x2", "torus:2x4"}) {
    for (const char* policy : training::kPolicies) {
      all.push_back({network, policy, training::kOneTree});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Policies, TenStepsOfHardware, testing::ValuesIn(all_steps()),
                         training::name_of);

}  // namespace
}  // namespace multitree::rtl
