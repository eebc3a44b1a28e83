// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ten steps of training with sums made by interfaces in C++, flit by flit: the parameters of real
/// ranks, bit by bit.
#include "tests/training/ten_steps.hpp"

#include <gtest/gtest.h>

#include "nic/hardware.hpp"
#include "nic/machine/machine.hpp"
#include "nic/program/job_program.hpp"

namespace multitree::training {
namespace {

/// By interfaces that add a message, or a word, at a time: those of the study, those of the
/// hardware.
template <nic::Reduction reduction>
void by_flits(const Phase& phase, const Topology& topology, nic::Memory& memory) {
  nic::Parameters parameters;
  if (reduction == nic::Reduction::Pipelined) {
    std::vector<const Schedule*> schedules;
    for (const nic::Job& job : phase.jobs) schedules.push_back(job.schedule);
    parameters = nic::as_hardware(parameters);
    parameters.header_flits = nic::hardware_header_flits(schedules);
  }
  const nic::Program program = nic::compile_jobs(phase.jobs, topology, parameters, {});
  const nic::Simulation simulation =
      nic::run_flit_level(program, topology, parameters, {}, &memory);
  for (const std::string& error : simulation.errors) ADD_FAILURE() << error;
}

class TenStepsOfModels : public testing::TestWithParam<TenSteps> {};

TEST_P(TenStepsOfModels, GiveTheParametersOfRealRanks) {
  const std::string real = digest_of_ranks(GetParam());
  EXPECT_EQ(train(GetParam(), by_flits<nic::Reduction::Pipelined>), real);
  EXPECT_EQ(train(GetParam(), by_flits<nic::Reduction::Streaming>), real);
}

/// Who adds in another order has other parameters, or the others would prove nothing.
TEST(TenSteps, DependOnTheOrderOfSums) {
  const TenSteps steps{"mesh:2x2", "bsp", kOneTree};
  const auto backwards = [](const Phase& phase, const Topology&, nic::Memory& memory) {
    for (std::uint64_t e = 0; e < phase.image.elements; ++e) {
      float sum = 0;
      for (std::size_t r = memory.size(); r-- > 0;) sum += memory[r][e];
      for (std::vector<float>& numbers : memory) numbers[e] = sum;
    }
  };
  EXPECT_NE(train(steps, backwards), digest_of_ranks(steps));
}

std::vector<TenSteps> all_steps() {
  std::vector<TenSteps> all;
  for (const char* network : {"mesh:2x2", "torus:2x4"}) {
    for (const char* policy : kPolicies) all.push_back({network, policy, kOneTree});
    // Several trees: of what each transfer has.
    all.push_back({network, "bsp", "multitree"});
    all.push_back({network, "wfbp", "multitree"});
    all.push_back({network, "dear?fusion=none", "multitree"});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Policies, TenStepsOfModels, testing::ValuesIn(all_steps()), name_of);

}  // namespace
}  // namespace multitree::training
