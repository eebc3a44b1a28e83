// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One schedule, many executors: the simulated interfaces and the runtime give the same bits.
#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <thread>

#include "algorithms/registry.hpp"
#include "nic/machine/machine.hpp"
#include "nic/machine/reference.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// All-reduce by the runtime's executor, ranks as threads.
nic::Memory run_for_real(const Schedule& schedule, const nic::Memory& inputs) {
  nic::Memory results(inputs.size(), std::vector<float>(inputs.front().size()));
  const auto bootstraps = runtime::make_in_process_bootstraps(schedule.ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        runtime::Communicator communicator(bootstraps[r], {schedule}, {.transport = "loopback"});
        communicator.all_reduce(inputs[r].data(), results[r].data(), inputs[r].size(),
                                runtime::DataType::Float32, runtime::ReduceOp::Sum);
      } catch (const std::exception& error) {
        bootstraps[r]->report_failure(error.what());
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

class RuntimeOrder : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RuntimeOrder, SimulatedSumsHaveTheRuntimesBits) {
  const auto& [spec, algorithm] = GetParam();
  const Topology topology = make_topology(spec);
  const Schedule schedule = make_schedule(algorithm, topology);
  const std::uint64_t elements = std::uint64_t{schedule.ranks} * 37;
  const nic::Memory inputs = nic::make_inputs(schedule.ranks, elements);
  const nic::Memory real = run_for_real(schedule, inputs);
  const nic::Program program = nic::compile_program(schedule, topology, elements);
  for (const nic::FlowControl flow_control :
       {nic::FlowControl::Message, nic::FlowControl::Packet}) {
    nic::Memory simulated = inputs;
    const nic::Parameters parameters{.flow_control = flow_control};
    const nic::Simulation result =
        nic::run_flit_level(program, topology, parameters, {}, &simulated);
    ASSERT_TRUE(result.errors.empty()) << result.errors.front();
    EXPECT_EQ(nic::find_difference(schedule, real, simulated), "");
  }
  // The inputs are such that the order matters, or this would prove nothing.
  float forwards = 0, backwards = 0;
  bool differs = false;
  for (std::uint64_t e = 0; e < elements && !differs; ++e) {
    forwards = backwards = 0;
    for (std::uint32_t r = 0; r < schedule.ranks; ++r) forwards += inputs[r][e];
    for (std::uint32_t r = schedule.ranks; r-- > 0;) backwards += inputs[r][e];
    differs = forwards != backwards;
  }
  EXPECT_TRUE(differs);
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, RuntimeOrder,
    testing::Values(std::pair("torus:4x4", "multitree"), std::pair("torus:4x4", "symmetric"),
                    std::pair("torus:4x4", "ring2d"), std::pair("mesh:3x3", "allreduce-optimal"),
                    std::pair("torus:2x4", "recursive-doubling"), std::pair("star:8", "multitree"),
                    std::pair("bigraph:2x4", "hdrm"), std::pair("fattree:4x4", "forest"),
                    std::pair("fattree:4x4", "double-binary-tree")));

}  // namespace
}  // namespace multitree
