// SPDX-License-Identifier: BSD-3-Clause
#include "nic/message/max_plus.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::MessageTimes;
using nic::MessageTiming;

MessageTimes times_of(const char* spec, const char* algorithm, std::uint64_t bytes,
                      const MessageTiming& timing = {}) {
  const Topology topology = make_topology(spec);
  const Schedule schedule = make_schedule(algorithm, topology);
  const nic::Tables tables =
      nic::compile_tables(schedule, topology, {.elements = bytes / timing.element_bytes});
  return nic::evaluate(tables, topology, timing);
}

TEST(Flits, CountPayloadAndHeaders) {
  EXPECT_EQ(nic::flits_of(0, {}), 0U);
  EXPECT_EQ(nic::flits_of(1, {}), 2U);
  EXPECT_EQ(nic::flits_of(64, {}), 17U);
  EXPECT_EQ(nic::flits_of(4096, {}), 1025U);
  EXPECT_EQ(nic::flits_of(4096, {.packet_bytes = 256}), 1024U + 64);
  EXPECT_EQ(nic::flits_of(65, {.packet_bytes = 256}), 17U + 2);
}

// Two ranks: half a buffer one way, then the sum back.
TEST(MaxPlus, OneLinkIsTwoMessagesAndTwoLatencies) {
  const MessageTimes times = times_of("mesh:2", "multitree", 8192);
  EXPECT_EQ(times.cycles, 2U * (4096 / 16 + 1 + 150));
  EXPECT_EQ(times.busiest_port, 2U * (4096 / 16 + 1));
}

// A ring passes each chunk on when it has arrived: 2 (n - 1) messages in a row, sums one way round
// and results the other.
TEST(MaxPlus, RingsTakeTheirClosedForm) {
  for (const std::uint64_t ranks : {3U, 5U, 8U}) {
    const std::uint64_t chunk = 1600;
    const MessageTimes times =
        times_of(fmt::format("ring:{}", ranks).c_str(), "ring", chunk * ranks);
    EXPECT_EQ(times.cycles, 2 * (ranks - 1) * (chunk / 16 + 1 + 150));
    EXPECT_EQ(times.busiest_port, (ranks - 1) * (chunk / 16 + 1));
  }
}

// Neither faster than the busiest port and the longest way allow, nor slower than one step after
// the other.
TEST(MaxPlus, StaysBetweenTheBounds) {
  for (const char* spec : {"torus:4x4", "mesh:3x5", "hypercube:4", "torus:8x8"}) {
    for (const char* algorithm : {"multitree", "ring", "allreduce-optimal?trees=16&segments=1"}) {
      const Topology topology = make_topology(spec);
      const Schedule schedule = make_schedule(algorithm, topology);
      const std::uint64_t elements = std::uint64_t{schedule.ranks} * 1024;
      const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = elements});
      std::uint64_t largest = 0;
      for (const ElementRange& range : chunk_ranges(schedule, elements)) {
        largest = std::max(largest, range.count);
      }
      const MessageTimes times = nic::evaluate(tables, topology, {});
      EXPECT_GE(times.cycles, times.busiest_port + 150);
      EXPECT_LE(times.cycles, tables.steps * (nic::flits_of(largest, {}) + 150));
    }
  }
}

// Schedules that meet the bound in steps lose only headers and the latency of the first messages
// when chunks are large.
TEST(MaxPlus, LargeChunksReachTheBoundOfTheSchedule) {
  const MessageTimes times = times_of("torus:4x4", "symmetric", 16 << 20);
  const std::uint64_t ideal = 8 * ((16ULL << 20) / 16 / 16);  // steps times flits of a chunk
  EXPECT_GE(times.cycles, ideal);
  EXPECT_LE(static_cast<double>(times.cycles), static_cast<double>(ideal) / 0.97);
}

// What the study's networks take: its authors' simulator reports 16,819 and 55,828 cycles, for it
// stores a chunk before it reduces it, and every node waits for the slowest.
TEST(MaxPlus, MultitreeOnTheNetworksOfTheStudy) {
  const std::uint64_t small = times_of("torus:4x4", "multitree", 256 << 10).cycles,
                      large = times_of("torus:8x8", "multitree", 1 << 20).cycles;
  RecordProperty("torus_4x4", std::to_string(small));
  RecordProperty("torus_8x8", std::to_string(large));
  EXPECT_LE(small, 10'900U);
  EXPECT_LE(large, 37'000U);
}

TEST(MaxPlus, PacketsCostTheirHeaders) {
  const auto whole = times_of("torus:4x4", "multitree", 4 << 20),
             packets = times_of("torus:4x4", "multitree", 4 << 20, {.packet_bytes = 256});
  const double ratio =
      static_cast<double>(packets.busiest_port) / static_cast<double>(whole.busiest_port);
  EXPECT_NEAR(ratio, 17.0 / 16, 1e-3);
  EXPECT_GT(packets.cycles, whole.cycles);
}

TEST(MaxPlus, NothingToSendTakesNoTime) {
  EXPECT_EQ(times_of("torus:4x4", "multitree", 0).cycles, 0U);
  EXPECT_EQ(times_of("mesh:1", "multitree", 64).cycles, 0U);
}

TEST(MaxPlus, RefusesSwitches) { EXPECT_THROW(times_of("star:4", "multitree", 64), Error); }

}  // namespace
}  // namespace multitree
