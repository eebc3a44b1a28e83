// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flows of packets: closed forms, nothing appears or vanishes, the same again, fair shares.
#include "nic/packets/packets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::packets {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kPacket = 120'000;  // picoseconds of 1500 bytes at 100 Gbit/s
constexpr std::int64_t kLatency = 1'000'000;

Topology star(std::uint32_t ranks) {
  return make_topology("star:" + std::to_string(ranks) + "?bw=12.5GB/s&lat=1us");
}

Flow flow(std::uint32_t src, std::uint32_t dst, std::uint64_t bytes, Sender sender) {
  return {.src = Rank{src},
          .dst = Rank{dst},
          .bytes = bytes,
          .sender = sender,
          .spread = sender == Sender::Dctcp ? Spread::Hash : Spread::Spray};
}

class Packets : public ::testing::TestWithParam<Sender> {};

TEST_P(Packets, OfOneFlowTakeAsLongAsTheirLinks) {
  const Topology topology = star(2);
  // A window that is never full: packets leave one behind the other.
  const Parameters parameters{.first_window = 4096, .most_window = 4096};
  for (const std::uint64_t packets : {1U, 2U, 10U, 1000U}) {
    const Flow one = flow(0, 1, 1500 * packets, GetParam());
    const Traffic traffic = simulate({&one, 1}, topology, parameters);
    const auto expected = static_cast<std::int64_t>(packets + 1) * kPacket + 2 * kLatency;
    EXPECT_EQ(traffic.flows[0].end.picoseconds, expected);
    EXPECT_EQ(traffic.flows[0].sent, packets);
    EXPECT_EQ(traffic.flows[0].dropped, 0U);
  }
}

TEST_P(Packets, OfNoBytesTakeNoTime) {
  const Flow none = flow(0, 1, 0, GetParam());
  EXPECT_EQ(simulate({&none, 1}, star(2), {}).end, Time{});
}

TEST_P(Packets, ReachTheRateOfTheLink) {
  const Flow one = flow(0, 1, 1500 * 20'000, GetParam());
  const double seconds = simulate({&one, 1}, star(2), {}).flows[0].seconds();
  EXPECT_NEAR(seconds, 20'000 * 120e-9, 0.02 * 20'000 * 120e-9);
}

TEST_P(Packets, ShareALinkFairly) {
  constexpr std::uint64_t kBytes = 1500 * 10'000;
  std::vector<Flow> flows;
  for (std::uint32_t rank = 1; rank < 5; ++rank) flows.push_back(flow(rank, 0, kBytes, GetParam()));
  const Traffic traffic = simulate(flows, star(5), {});
  const auto [first, last] = std::ranges::minmax(traffic.flows, {}, &FlowResult::seconds);
  EXPECT_LT(last.seconds() / first.seconds(), 1.15);
  EXPECT_NEAR(last.seconds(), 40'000 * 120e-9, 0.05 * 40'000 * 120e-9);
}

/// What was sent arrived or was dropped, whatever happens.
TEST_P(Packets, AreConserved) {
  std::mt19937_64 random(5);
  for (const char* network : {"star:9?bw=12.5GB/s&lat=1us", "fattree:4x4", "torus:4x4"}) {
    const Topology topology = make_topology(network);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<Flow> flows;
      for (std::uint32_t f = 0; f < 12; ++f) {
        const auto src = static_cast<std::uint32_t>(random() % topology.num_ranks());
        const std::uint32_t dst = src == 0 ? 1 : 0;
        Flow& one = flows.emplace_back(flow(src, dst, random() % 600'000, GetParam()));
        one.priority = static_cast<std::uint32_t>(random() % kPriorities);
        one.droppable = 0.5;
        one.budget = 0.1;
        if (f > 3 && f % 2 == 0) one.after = {f - 1, f - 4};
      }
      const Parameters parameters{
          .queue = 20, .threshold = 8, .first_window = 30, .seed = random()};
      const Traffic traffic = simulate(flows, topology, parameters);
      for (std::size_t f = 0; f < flows.size(); ++f) {
        const FlowResult& one = traffic.flows[f];
        EXPECT_EQ(one.sent, one.arrived + one.dropped);
        EXPECT_LE(one.packets, one.arrived + one.lost);
        const double most = GetParam() == Sender::Dctcp ? 0 : 0.1;
        EXPECT_LE(static_cast<double>(one.lost), most * static_cast<double>(one.packets));
        for (const std::uint32_t other : flows[f].after) {
          EXPECT_GE(one.begin, traffic.flows[other].end);
        }
      }
      EXPECT_LE(traffic.most_waiting, 20U);
      EXPECT_EQ(simulate(flows, topology, parameters).flows, traffic.flows);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Senders, Packets, ::testing::Values(Sender::Dctcp, Sender::BoundedLoss),
                         [](const auto& one) {
                           return one.param == Sender::Dctcp ? "Dctcp" : "BoundedLoss";
                         });

TEST(PacketsOfUrgentFlows, GoFirst) {
  std::vector<Flow> flows;
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    flows.push_back(flow(rank, 0, 1500 * 2000, Sender::BoundedLoss));
    flows.back().priority = rank;
  }
  const Traffic traffic = simulate(flows, star(4), {});
  EXPECT_LT(traffic.flows[0].end, traffic.flows[1].end);
  EXPECT_LT(traffic.flows[1].end, traffic.flows[2].end);
  EXPECT_NEAR(traffic.flows[0].seconds(), 2000 * 120e-9, 0.2 * 2000 * 120e-9);
}

TEST(PacketsThatMayBeDropped, AreBeforeOthers) {
  std::vector<Flow> flows;
  for (std::uint32_t rank = 1; rank < 9; ++rank) {
    flows.push_back(flow(rank, 0, 1500 * 400, Sender::BoundedLoss));
    flows.back().budget = 0.2;
    flows.back().droppable = rank % 2 == 0 ? 1 : 0;
  }
  const Traffic traffic = simulate(flows, star(9), {.first_window = 12});
  std::uint64_t droppable = 0;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (flows[f].droppable == 0) {
      EXPECT_EQ(traffic.flows[f].dropped, 0U);
    } else {
      EXPECT_EQ(traffic.flows[f].marked,
                traffic.flows[f].dropped > 0 ? traffic.flows[f].marked : 0);
      droppable += traffic.flows[f].dropped;
    }
  }
  EXPECT_GT(droppable, 0U);
}

/// The last packet of a full port is lost: only a time-out tells DCTCP, a question the other.
TEST(PacketsLostAtTheEnd, AreAwaitedByOneAndAskedForByTheOther) {
  for (const Sender sender : {Sender::Dctcp, Sender::BoundedLoss}) {
    std::vector<Flow> flows;
    for (std::uint32_t rank = 1; rank < 9; ++rank) flows.push_back(flow(rank, 0, 15'000, sender));
    const Traffic traffic = simulate(flows, star(9), {.queue = 4, .threshold = 4});
    if (sender == Sender::Dctcp) {
      EXPECT_GT(traffic.end.seconds(), 10e-3);
    } else {
      EXPECT_LT(traffic.end.seconds(), 1e-3);
    }
  }
}

TEST(PacketsOnSeveralPaths, ArriveSoonerWhenSprayed) {
  const Topology topology = make_topology("fattree:4x4?bw=12.5GB/s&lat=1us");
  double hashed = 0, sprayed = 0;
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    for (const Spread spread : {Spread::Hash, Spread::Spray}) {
      std::vector<Flow> flows;
      for (std::uint32_t rank = 0; rank < 16; ++rank) {
        flows.push_back(flow(rank, (rank + 4) % 16, 1500 * 2000, Sender::BoundedLoss));
        flows.back().spread = spread;
      }
      (spread == Spread::Hash ? hashed : sprayed) +=
          simulate(flows, topology, {.seed = seed}).end.seconds();
    }
  }
  EXPECT_GT(hashed, 1.3 * sprayed);
}

TEST(PacketsOfWrongRequests, AreRefused) {
  const Topology topology = star(3);
  const auto refuses = [&](Flow one, const Parameters& parameters, const std::string& words) {
    EXPECT_THAT(
        [&] {
          simulate({&one, 1}, topology, parameters);
        },
        ThrowsMessage<Error>(HasSubstr(words)));
  };
  const Flow good = flow(0, 1, 1000, Sender::Dctcp);
  Flow bad = good;
  bad.dst = Rank{3};
  refuses(bad, {}, "flow 0: expected two different ranks below 3, got 0 and 3");
  bad = good;
  bad.budget = 1;
  refuses(bad, {}, "expected a budget below 1");
  bad = good;
  bad.after = {0};
  refuses(bad, {}, "expected to come after flows before it, got 0");
  bad = good;
  bad.priority = kPriorities;
  refuses(bad, {}, "expected a priority below 8");
  refuses(good, {.queue = 0}, "expected a queue");
  refuses(good, {.packet_bytes = 10}, "packets of 64 to 1048576 bytes, got 10");
}

}  // namespace
}  // namespace multitree::packets
