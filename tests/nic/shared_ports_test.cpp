// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ports that send any message: who takes what when, and whole simulations.
#include "nic/nic/shared_ports.hpp"

#include <gmock/gmock.h>

#include "algorithms/registry.hpp"
#include "nic/simulate.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::nic {
namespace {

constexpr auto kAll = [](std::uint32_t) { return true; };
constexpr std::uint64_t kPacketFlits = 16;

Parameters parameters(std::uint32_t packets) {
  Parameters parameters;
  parameters.port_queue_packets = packets;
  return parameters;
}

TEST(SharedPorts, LowestPortWithRoomTakesTheNextMessageThatIsReady) {
  SharedPorts ports(parameters(4), {0, 2});
  for (const std::uint32_t m : {0U, 1U, 2U}) ports.add(0, m, 0, false, 2 * kPacketFlits);
  EXPECT_EQ(ports.assign(0, 10, [](std::uint32_t m) { return m > 0; }), 0U);
  EXPECT_EQ(ports.front(0), 1U);
  EXPECT_EQ(ports.free_at(0), 12U) << "a packet a cycle goes into the queue";
  EXPECT_EQ(ports.assign(0, 10, kAll), 1U);
  EXPECT_EQ(ports.front(1), 0U);
  EXPECT_EQ(ports.assign(0, 11, kAll), SharedPorts::kNone) << "both are busy";
  EXPECT_EQ(ports.assign(0, 12, kAll), 0U) << "though the first has not sent anything";
}

TEST(SharedPorts, FullQueueHasRoomOnceAllButSoManyPacketsHaveLeft) {
  SharedPorts ports(parameters(4), {0, 1});
  ports.add(0, 0, 0, false, 6 * kPacketFlits);
  ports.add(0, 1, 0, false, kPacketFlits);
  EXPECT_EQ(ports.assign(0, 0, kAll), 0U);
  EXPECT_EQ(ports.free_at(0), SharedPorts::kNever);
  ports.begin(0);
  EXPECT_FALSE(ports.sent_packet(0, 16));
  EXPECT_TRUE(ports.sent_packet(0, 32));
  EXPECT_EQ(ports.assign(0, 32, kAll), SharedPorts::kNone);
  EXPECT_EQ(ports.assign(0, 33, kAll), 0U);
}

TEST(SharedPorts, StepsAndPhasesFollowEachOther) {
  SharedPorts ports(parameters(1), {0, 2});
  ports.add(0, 0, 3, false, kPacketFlits);
  ports.add(0, 1, 4, true, kPacketFlits);
  EXPECT_EQ(ports.step(0), 3U);
  EXPECT_EQ(ports.assign(0, 0, [](std::uint32_t m) { return m == 1; }), SharedPorts::kNone);
  EXPECT_EQ(ports.assign(0, 0, kAll), 0U);
  EXPECT_EQ(ports.step(0), 4U);
  EXPECT_EQ(ports.assign(0, 0, kAll), SharedPorts::kNone) << "gathers wait for all ports";
  EXPECT_EQ(ports.assign(0, 1, kAll), 0U);
  EXPECT_EQ(ports.step(0), SharedPorts::kNone);
}

TEST(SharedPorts, SimulationsGiveTheSumAndTakeLonger) {
  const Topology topology = make_topology("torus:4x4");
  for (const char* algorithm : {"multitree", "ring2d", "ring"}) {
    const Schedule schedule = make_schedule(algorithm, topology);
    for (const Issue issue : {Issue::Dependency, Issue::Lockstep}) {
      Parameters shared = parameters(58);
      shared.issue = issue;
      const SimulationOptions options{.data = true};
      const Simulation run = simulate(schedule, topology, 1 << 16, shared, options);
      EXPECT_THAT(run.errors, testing::IsEmpty());
      EXPECT_TRUE(run.checked) << algorithm;
      const Simulation ours = simulate(schedule, topology, 1 << 16, Parameters{}, options);
      EXPECT_GE(run.cycles, ours.cycles) << algorithm;
    }
  }
}

TEST(SharedPorts, MessageModelRefusesThem) {
  const Topology topology = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", topology);
  EXPECT_THROW(simulate(schedule, topology, 1 << 16, parameters(58), {.model = Model::Message}),
               Error);
}

}  // namespace
}  // namespace multitree::nic
