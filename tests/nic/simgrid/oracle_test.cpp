// SPDX-License-Identifier: BSD-3-Clause
/// The oracle itself, on networks whose times can be written down.
#include "tests/nic/simgrid/oracle.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "algorithms/registry.hpp"
#include "tests/nic/simgrid/child_process.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using test::simgrid_cycles;
using test::wire_bytes;

/// Chunks of 100 flits, 101 with their header.
constexpr std::uint64_t kFourChunks = 6400;

/// Rank 0 and 1 send to 2 and 3 over one link between two switches.
Topology dumbbell(const char* middle) {
  TopologyBuilder builder("dumbbell");
  const Bandwidth fast = parse_bandwidth("16GB/s");
  const Time latency = parse_time("100ns");
  std::array<NodeId, 4> ends{};
  for (NodeId& end : ends) end = builder.add_endpoint();
  const NodeId left = builder.add_switch("left"), right = builder.add_switch("right");
  for (std::size_t r = 0; r < 4; ++r) {
    builder.add_duplex(ends[r], r < 2 ? left : right, fast, latency);
  }
  builder.add_duplex(left, right, parse_bandwidth(middle), latency);
  return std::move(builder).build();
}

/// The links 0, 2, 4, 6 lead from ranks 0 .. 3 to their switch, 8 from left to right.
void send_across(Schedule& schedule, std::uint32_t step, std::uint32_t chunk, Rank src, Rank dst) {
  const std::array route{LinkId{2 * index(src)}, LinkId{8}, LinkId{2 * index(dst) + 1}};
  schedule.add(step, Op::Copy, chunk, src, dst, route);
}

/// Four chunks of a quarter of the buffer.
Schedule empty_schedule() {
  Schedule schedule;
  schedule.ranks = 4;
  schedule.chunks = one_chunk_per_rank(4);
  return schedule;
}

TEST(SimgridWire, CountsPayloadAndHeaders) {
  EXPECT_EQ(wire_bytes(0, {}), 0U);
  EXPECT_EQ(wire_bytes(4, {}), 32U);
  EXPECT_EQ(wire_bytes(256, {}), 272U);
  EXPECT_EQ(wire_bytes(260, {.packet_bytes = 256}), (17U + 2) * 16);
}

TEST(SimgridChild, ReturnsItsResult) {
  EXPECT_EQ(test::run_in_child([] { return 2.5; }), 2.5);
}

TEST(SimgridChild, ReportsFailures) {
  const auto fail = []() -> double { throw std::runtime_error("this is expected"); };
  EXPECT_THROW(test::run_in_child(fail), std::runtime_error);
}

TEST(Simgrid, OneLinkIsTwoMessagesAndTwoLatencies) {
  const Topology topology = make_topology("mesh:2");
  const Schedule schedule = make_schedule("multitree", topology);
  EXPECT_EQ(simgrid_cycles(schedule, topology, 8192), 2U * (4096 / 16 + 1 + 150));
  EXPECT_EQ(simgrid_cycles(schedule, topology, 8192, {.packet_bytes = 256}),
            2U * (4096 / 16 + 16 + 150));
}

TEST(Simgrid, RingsTakeTheirClosedForm) {
  for (const std::uint64_t ranks : {3U, 5U, 8U}) {
    const Topology topology = make_topology("ring:" + std::to_string(ranks));
    EXPECT_EQ(simgrid_cycles(make_schedule("ring", topology), topology, 1600 * ranks),
              2 * (ranks - 1) * (1600 / 16 + 1 + 150));
  }
}

// Cut-through: bytes are paid for once, latencies on each of the three links.
TEST(Simgrid, RoutesPayForTheirBytesOnce) {
  const Topology topology = dumbbell("16GB/s");
  Schedule schedule = empty_schedule();
  send_across(schedule, 0, 0, Rank{0}, Rank{2});
  EXPECT_EQ(simgrid_cycles(schedule, topology, kFourChunks), 101U + 300);
}

TEST(Simgrid, SlowestLinkSetsThePace) {
  const Topology topology = dumbbell("4GB/s");
  Schedule schedule = empty_schedule();
  send_across(schedule, 0, 0, Rank{0}, Rank{2});
  EXPECT_EQ(simgrid_cycles(schedule, topology, kFourChunks), 4U * 101 + 300);
}

TEST(Simgrid, SendersShareALinkFairly) {
  const Topology topology = dumbbell("16GB/s");
  Schedule schedule = empty_schedule();
  send_across(schedule, 0, 0, Rank{0}, Rank{2});
  send_across(schedule, 0, 1, Rank{1}, Rank{3});
  EXPECT_EQ(simgrid_cycles(schedule, topology, kFourChunks), 2U * 101 + 300);
}

// A queue goes on when the bytes have left, and pays one latency in all.
TEST(Simgrid, QueuesSendBackToBack) {
  const Topology topology = dumbbell("16GB/s");
  Schedule schedule = empty_schedule();
  for (std::uint32_t chunk = 0; chunk < 4; ++chunk) {
    send_across(schedule, chunk, chunk, Rank{0}, Rank{2});
  }
  EXPECT_EQ(simgrid_cycles(schedule, topology, kFourChunks), 4U * 101 + 300);
}

// What is passed on waits for its arrival, and so does everything behind it in the queue.
TEST(Simgrid, QueuesKeepTheirOrder) {
  const Topology topology = dumbbell("16GB/s");
  Schedule schedule = empty_schedule();
  send_across(schedule, 0, 0, Rank{0}, Rank{2});
  const std::array back{LinkId{4}, LinkId{9}, LinkId{3}};
  schedule.add(1, Op::Copy, 0, Rank{2}, Rank{1}, back);
  schedule.add(2, Op::Copy, 1, Rank{2}, Rank{1}, back);
  EXPECT_EQ(simgrid_cycles(schedule, topology, kFourChunks), 101U + 300 + 2 * 101 + 300);
}

// Transfers of one step read what was there before it.
TEST(Simgrid, StepsDoNotWaitForThemselves) {
  const Topology topology = dumbbell("16GB/s");
  Schedule schedule = empty_schedule();
  send_across(schedule, 0, 0, Rank{0}, Rank{2});
  schedule.add(0, Op::Copy, 0, Rank{2}, Rank{1}, std::array{LinkId{4}, LinkId{9}, LinkId{3}});
  EXPECT_EQ(simgrid_cycles(schedule, topology, kFourChunks), 101U + 300);
}

// Two ways between the same two ranks are two lanes: the second does not slow the first down.
TEST(Simgrid, PairsMayUseSeveralRoutes) {
  const Topology topology = make_topology("ring:4");
  const auto one_way = [&](NodeId from, NodeId to) {
    for (const LinkId id : topology.out_links(from)) {
      if (topology.link(id).dst == to) return id;
    }
    throw std::logic_error("no link");
  };
  const std::array n{NodeId{0}, NodeId{1}, NodeId{2}, NodeId{3}};
  Schedule schedule = empty_schedule();
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{2},
               std::array{one_way(n[0], n[1]), one_way(n[1], n[2])});
  schedule.add(0, Op::Copy, 1, Rank{0}, Rank{2},
               std::array{one_way(n[0], n[3]), one_way(n[3], n[2])});
  EXPECT_EQ(simgrid_cycles(schedule, topology, kFourChunks), 101U + 300);
}

TEST(Simgrid, NothingToSendTakesNoTime) {
  const Topology topology = make_topology("torus:4x4");
  EXPECT_EQ(simgrid_cycles(make_schedule("multitree", topology), topology, 0), 0U);
}

}  // namespace
}  // namespace multitree
