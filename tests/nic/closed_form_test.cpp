// SPDX-License-Identifier: BSD-3-Clause
/// Both simulators against times worked out by hand, to the cycle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "algorithms/registry.hpp"
#include "simulation.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::FlowControl;
using nic::Model;
using nic::Parameters;
using test::broadcast_by_hand;
using test::cycles_of;
using test::Hand;
using test::message_cycles;
using test::simulate_checked;

constexpr std::uint64_t kLatency = 150;

/// One message from its first flit to its arrival: flits, the interfaces at both ends, links.
std::uint64_t alone(std::uint64_t flits, std::uint64_t links, const Parameters& p = {}) {
  return flits - 1 + std::uint64_t{2} * p.interface_cycles + links * (kLatency + p.router_cycles);
}

void expect_cycles(const test::Job& job, std::uint64_t cycles, const Parameters& parameters = {}) {
  EXPECT_EQ(cycles_of(job, Model::Flit, parameters), cycles) << job.topology;
  EXPECT_EQ(cycles_of(job, Model::Message, parameters), cycles) << job.topology;
}

void expect_cycles(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                   std::uint64_t cycles, const Parameters& parameters = {}) {
  EXPECT_EQ(simulate_checked(schedule, topology, bytes, parameters).cycles, cycles);
  EXPECT_EQ(message_cycles(schedule, topology, bytes, parameters), cycles);
}

// Half a buffer one way, then the sum back.
TEST(ClosedForm, OneLink) {
  expect_cycles({"mesh:2", "multitree", 8192}, 2 * alone(4096 / 16 + 1, 1));
}

TEST(ClosedForm, ParametersOfInterfacesAndRouters) {
  const Parameters p{
      .router_cycles = 3, .interface_cycles = 7, .issue_cycles = 9, .header_flits = 2};
  EXPECT_EQ(alone(258, 1, p), 257U + 14 + 153);
  expect_cycles({"mesh:2", "multitree", 8192}, 2 * (9 + alone(4096 / 16 + 2, 1, p)), p);
}

TEST(ClosedForm, PacketsCostTheirHeaders) {
  Parameters p{.flow_control = FlowControl::Packet};
  expect_cycles({"mesh:2", "multitree", 8192}, 2 * alone(4096 / 16 + 16, 1), p);
  // The last packet is short.
  expect_cycles({"mesh:2", "multitree", 8192 + 32}, 2 * alone(257 + 17, 1), p);
  p.packet_bytes = 1000;  // 63 flits of payload
  expect_cycles({"mesh:2", "multitree", 8192}, 2 * alone(256 + 5, 1), p);
}

TEST(ClosedForm, RingsOfAnySize) {
  for (const std::uint64_t ranks : {2U, 3U, 5U, 8U}) {
    const std::uint64_t chunk = 1600;
    expect_cycles({fmt::format("ring:{}", ranks), "ring", chunk * ranks},
                  2 * (ranks - 1) * alone(chunk / 16 + 1, 1));
  }
}

TEST(ClosedForm, StarsAreTwoLinks) {
  expect_cycles({"star:5", "ring", 1600 * 5}, 8 * alone(101, 2));
  const Parameters p{.router_cycles = 4};
  expect_cycles({"star:3", "ring", 1600 * 3}, 4 * alone(101, 2, p), p);
}

// One element a chunk is one flit and its header.
TEST(ClosedForm, OneElement) {
  expect_cycles({"mesh:2", "multitree", 1}, 2 * alone(2, 1));
  expect_cycles({"ring:5", "ring", 4}, 8 * alone(2, 1));
}

// In lockstep every step takes a cycle.
TEST(ClosedForm, NothingToDoTakesNoTime) {
  for (const char* spec : {"torus:4x4", "mesh:3x5", "star:5", "torus:2x2"}) {
    expect_cycles({spec, "multitree", 0}, 0);
    const Topology topology = make_topology(spec);
    const Schedule schedule = make_schedule("multitree", topology);
    expect_cycles(schedule, topology, 0, schedule.num_steps() - 1, {.issue = nic::Issue::Lockstep});
  }
  expect_cycles({"mesh:1", "multitree", 4096}, 0);
  expect_cycles({"mesh:1", "multitree", 0}, 0);
}

// A hand on from rank to rank; pieces follow each other at the rate of the link.
TEST(ClosedForm, Chains) {
  const Topology topology = make_topology("mesh:4");
  const std::uint64_t flits = 65;
  for (const std::uint32_t pieces : {1U, 2U, 7U}) {
    std::vector<Hand> copies;
    for (std::uint32_t c = 0; c < pieces; ++c) {
      for (std::uint32_t hop = 0; hop < 3; ++hop) copies.push_back({c + hop, c, hop, hop + 1});
    }
    expect_cycles(broadcast_by_hand(topology, pieces, copies), topology, pieces * 1024,
                  (pieces - 1) * flits + 3 * alone(flits, 1));
  }
}

// Through other ranks' routers a message passes flit by flit.
TEST(ClosedForm, LongRoutes) {
  const Topology topology = make_topology("mesh:6");
  const std::vector<Hand> copies = {{0, 0, 0, 5}};
  const Schedule schedule = broadcast_by_hand(topology, 1, copies);
  const nic::SimulationOptions options;
  for (const Parameters& p : {Parameters{}, Parameters{.router_cycles = 5}}) {
    const auto flits = nic::simulate(schedule, topology, 16000 - 16, p, options);
    EXPECT_TRUE(flits.errors.empty());
    EXPECT_EQ(flits.cycles, alone(1000, 5, p));
    EXPECT_EQ(message_cycles(schedule, topology, 16000 - 16, p), alone(1000, 5, p));
  }
}

/// Of a link that takes a flit every `interval` cycles: all but the first wait for their turn.
std::uint64_t slow(std::uint64_t flits, std::uint64_t interval) {
  return alone(1, 1) + (flits - 1) * interval;
}

TEST(ClosedForm, SlowLinks) {
  expect_cycles({"mesh:2?bw=8GB/s", "multitree", 8192}, 2 * slow(257, 2));
  expect_cycles({"mesh:2?bw=4GB/s", "multitree", 32}, 2 * slow(2, 4));
  expect_cycles({"ring:4?bw=2GB/s", "ring", 4 * 512}, 6 * slow(33, 8));
}

// At 12.5 GB/s flits of 16 bytes take 1.28 cycles.
TEST(ClosedForm, LinksOfBrokenIntervals) {
  const std::uint64_t flits = 8192 / 16 / 2 * 16 + 1;
  const auto cycles =
      static_cast<double>(cycles_of({"mesh:2?bw=12.5GB/s", "multitree", 8192 * 16}, Model::Flit));
  const double expected = 2 * (152 + static_cast<double>(flits - 1) * 1.28);
  EXPECT_NEAR(cycles, expected, 2);
  EXPECT_NEAR(static_cast<double>(
                  cycles_of({"mesh:2?bw=12.5GB/s", "multitree", 8192 * 16}, Model::Message)),
              expected, 2);
}

// A faster link raises the clock, and slower ones take more of its cycles.
TEST(ClosedForm, FastLinksRaiseTheClock) {
  const Topology topology = make_topology("mesh:2?bw=32GB/s");
  EXPECT_EQ(nic::clock_of(topology, {}), 2'000'000'000U);
  expect_cycles({"mesh:2?bw=32GB/s", "multitree", 8192}, 2 * (257 - 1 + 2 + 300));
}

// The hardware with wider flits on links as much faster: half the buffer one way and back, added
// two cycles after it has come, in as many cycles as it has flits, the last one full or not.
TEST(ClosedForm, WideFlits) {
  for (const std::uint32_t bytes : {16U, 32U, 64U}) {
    const Parameters p{
        .flit_bytes = bytes, .reduction = nic::Reduction::Pipelined, .reduction_cycles = 2};
    for (const std::uint64_t half : {4U, 4096U, 4100U}) {
      const std::uint64_t flits = (half + bytes - 1) / bytes;
      EXPECT_EQ(simulate_checked({fmt::format("mesh:2?bw={}GB/s", bytes), "multitree", 2 * half}, p)
                    .cycles,
                2 * (alone(flits + 1, 1) + p.reduction_cycles + 2))
          << bytes << ", " << half;
    }
  }
}

// From a link of one speed onto one of another, both ways.
TEST(ClosedForm, LinksOfDifferentSpeedInARow) {
  for (const auto& [first, second] : {std::pair{16, 4}, std::pair{4, 16}, std::pair{8, 4}}) {
    TopologyBuilder builder("two links");
    const NodeId a = builder.add_endpoint("a"), b = builder.add_endpoint("b");
    const NodeId middle = builder.add_switch("middle");
    const auto gigabytes = [](int n) {
      return Bandwidth{static_cast<std::uint64_t>(n) * 1'000'000'000};
    };
    builder.add_duplex(a, middle, gigabytes(first), Time{150'000});
    builder.add_duplex(middle, b, gigabytes(second), Time{150'000});
    const Topology topology = std::move(builder).build();
    const std::vector<Hand> copies = {{0, 0, 0, 1}};
    Parameters p{.buffer_flits = 2000};
    const Schedule schedule = broadcast_by_hand(topology, 1, copies);
    expect_cycles(schedule, topology, 16000, 1000 * (16U / 4) + alone(1, 2), p);
  }
}

// Torus of two links between each pair in a dimension of size 2, and of one.
TEST(ClosedForm, DimensionsOfSizeTwo) {
  expect_cycles({"torus:2", "ring", 3200}, 2 * alone(101, 1));
  // Four rounds of quarters; to wait for the second quarter of the first round costs one more.
  expect_cycles({"torus:2x2", "halving-doubling", 6400}, 101 + 4 * alone(101, 1));
}

// Two messages at once, each on a link of its own; or one after the other on the same.
TEST(ClosedForm, ParallelLinks) {
  const Topology one = make_topology("mesh:2"), two = make_topology("mesh:2?parallel=0-1:2");
  ASSERT_EQ(two.num_links(), 2 * one.num_links());
  const std::vector<Hand> copies = {{0, 0, 0, 1}, {0, 1, 0, 1}};
  Schedule schedule = broadcast_by_hand(one, 2, copies);
  expect_cycles(schedule, one, 3200, 101 + alone(101, 1));
  schedule = broadcast_by_hand(two, 2, copies);
  const auto out = two.out_links(two.node_of(Rank{0}));
  schedule.routes = {out[0], out[1]};
  expect_cycles(schedule, two, 3200, alone(101, 1));
  expect_cycles(schedule, two, 3200, 101 + alone(101, 1), {.ports = 1});
}

// One port for all links: messages of a rank leave one after the other.
TEST(ClosedForm, OnePortSendsOneMessageAfterTheOther) {
  const Topology topology = make_topology("ring:3");
  const std::vector<Hand> copies = {{0, 0, 0, 1}, {0, 0, 0, 2}};
  const Schedule schedule = broadcast_by_hand(topology, 1, copies);
  expect_cycles(schedule, topology, 4800, alone(301, 1));
  expect_cycles(schedule, topology, 4800, 301 + alone(301, 1), {.ports = 1});
}

// In lockstep a step lasts as long as its longest message takes to send; one after another here.
TEST(ClosedForm, Lockstep) {
  const Topology topology = make_topology("mesh:3");
  // Rank 1 may send what it has in step 3 only.
  const std::vector<Hand> copies = {{0, 0, 0, 1}, {3, 0, 1, 2}, {1, 1, 0, 1}, {2, 1, 1, 2}};
  const Schedule schedule = broadcast_by_hand(topology, 2, copies);
  const Parameters p{.issue = nic::Issue::Lockstep};
  // Chunk 1 leaves after chunk 0 and is passed on as soon as it is there; then chunk 0.
  expect_cycles(schedule, topology, 4800, 151 + alone(151, 1) + 151 + alone(151, 1), p);
}

// Stored whole, then added: 32 elements a cycle.
TEST(ClosedForm, StoringBeforeReducing) {
  const Parameters p{.reduction = nic::Reduction::Store};
  expect_cycles({"mesh:2", "multitree", 8192}, 2 * alone(257, 1) + 1024 / 32, p);
  expect_cycles({"ring:4", "ring", 4 * 1600}, 6 * alone(101, 1) + 3 * 13, p);
}

// A buffer shorter than the way of a credit: that many flits a round trip.
TEST(ClosedForm, ShortBuffersLimitTheRate) {
  for (const std::uint64_t buffer : {8U, 60U, 300U}) {
    const std::uint64_t trip = 2 * kLatency, flits = 1000;
    const Parameters p{.buffer_flits = static_cast<std::uint32_t>(buffer)};
    const Topology topology = make_topology("mesh:2");
    const std::vector<Hand> copies = {{0, 0, 0, 1}};
    const Schedule schedule = broadcast_by_hand(topology, 1, copies);
    const std::uint64_t last = (flits - 1) / buffer * std::max(trip, buffer) + (flits - 1) % buffer;
    const auto result = simulate_checked(schedule, topology, (flits - 1) * 16, p);
    EXPECT_EQ(result.cycles, last + 2 + kLatency) << buffer;
    const std::uint64_t messages = message_cycles(schedule, topology, (flits - 1) * 16, p);
    EXPECT_NEAR(static_cast<double>(messages), static_cast<double>(result.cycles),
                0.01 * static_cast<double>(result.cycles))
        << buffer;
  }
}

}  // namespace
}  // namespace multitree
