// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trees that are timed for what messages cost (TimingOptions::costs), and how near the least time
/// that brings schedules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/switched_all_reduce.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/tuning/tune.hpp"
#include "algorithms/verify.hpp"
#include "random_packings.hpp"
#include "tests/topologies/drawn_networks.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(MessageCosts, SchedulesAreRight) {
  Generator random(31);
  for (const DrawnKind& kind : drawn_kinds(9)) {
    for (int i = 0; i < 25; ++i) {
      const Topology topology = draw_network(random, kind);
      for (const Collective collective :
           {Collective::AllReduce, Collective::AllGather, Collective::Broadcast}) {
        const TreePacking packing = random_packing(topology, collective, random);
        const TimingOptions timing{
            .segments = 1 + below(random, 6),
            .same_order = below(random, 2) == 0,
            .costs = MessageCosts{1 + below(random, 1U << 30), Time{below(random, 1U << 24)},
                                  below(random, 2) == 0}};
        SCOPED_TRACE(fmt::format("{} {} {}", to_string(kind), i, to_string(collective)));
        const Schedule schedule = time_trees(packing, topology, timing);
        const VerifyReport report = verify(schedule, topology);
        ASSERT_TRUE(report.ok()) << report.violations.front().message;
        EXPECT_EQ(schedule, time_trees(packing, topology, timing));
      }
    }
  }
}

/// 24 to 32 ranks with links of 1 to 97 GB/s and 100 ns to 1 us; with odd seeds up to 8 switches.
Topology uneven_network(std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15ULL + 7);
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  TopologyBuilder builder(fmt::format("uneven:{}", seed));
  const std::uint64_t ranks = 24 + pick(9);
  const std::uint64_t switches = seed % 2 == 0 ? 0 : 1 + pick(8);
  std::vector<NodeId> nodes;
  for (std::uint64_t r = 0; r < ranks; ++r) nodes.push_back(builder.add_endpoint());
  for (std::uint64_t s = 0; s < switches; ++s) {
    const auto at = static_cast<std::ptrdiff_t>(pick(nodes.size() + 1));
    nodes.insert(nodes.begin() + at, builder.add_switch(fmt::format("s{}", s)));
  }
  const auto link_to = [&](std::size_t a) {
    const std::uint64_t b = pick(a == 0 ? nodes.size() : a);
    if (a == b) return;
    const Bandwidth bandwidth{(1 + pick(97)) * 1'000'000'000};
    const Time latency{static_cast<std::int64_t>(100 + pick(901)) * 1000};
    builder.add_duplex(nodes[a], nodes[b], bandwidth, latency);
  };
  for (std::size_t i = 1; i < nodes.size(); ++i) link_to(i);
  for (std::size_t i = 0; i < nodes.size(); ++i) link_to(pick(nodes.size()));
  return std::move(builder).build();
}

/// A rank with fast and slow links has messages that could go, but need not go yet: urgent ones on
/// other links wait for them unless all have their order.
TEST(MessageCosts, UrgentMessagesGoFirst) {
  constexpr std::uint64_t kBytes = 64 << 20;
  double plain = 0, planned = 0;
  for (const std::uint64_t seed : {1, 2, 8}) {
    const Topology topology = uneven_network(seed);
    const TreePacking packing = pack_switched_all_reduce(topology);
    TimingOptions timing{.segments = 16, .lag = 1, .same_order = true};
    const auto seconds = [&] {
      return predict_time(time_trees(packing, topology, timing), topology, kBytes,
                          CostModel{.message_overhead = kMessageOverhead, .hosts = {}})
          .seconds();
    };
    plain += seconds();
    timing.costs = MessageCosts{kBytes, kMessageOverhead};
    planned += seconds();
  }
  EXPECT_LT(planned, 0.8 * plain);
}

/// Predicted time over the least that any schedule takes.
double over_least(const std::string& algorithm, const Topology& topology, Collective collective,
                  std::uint64_t bytes) {
  const Certificate certificate = certify(topology, collective).certificate;
  const LeastTime least(topology, certificate, kMessageOverhead);
  const Schedule schedule =
      generate_schedule(told(algorithm, bytes, kMessageOverhead), topology, collective, Rank{0});
  const Time time = predict_time(schedule, topology, bytes,
                                 CostModel{.message_overhead = kMessageOverhead, .hosts = {}});
  return time.seconds() / least.at(bytes).bound.seconds();
}

TEST(MessageCosts, UnevenNetworksAreNearTheLeastTime) {
  for (const std::uint64_t seed : {3, 6, 7, 10, 11, 12}) {
    SCOPED_TRACE(seed);
    const Topology topology = uneven_network(seed);
    EXPECT_LT(over_least("allreduce-optimal", topology, Collective::AllReduce, 64 << 20), 1.03);
  }
}

TEST(MessageCosts, LargeBroadcastsAreNearTheLeastTime) {
  for (const char* network : {"torus:4x4", "mesh:4x4", "full:8", "star:8", "fattree:4x4"}) {
    SCOPED_TRACE(network);
    EXPECT_LT(over_least("forest", make_topology(network), Collective::Broadcast, 1 << 30), 1.02);
    EXPECT_LT(over_least("forest", make_topology(network), Collective::Reduce, 1 << 30), 1.03);
  }
}

TEST(MessageCosts, LargeGatheringsOfGroupsAreNearTheLeastTime) {
  for (const char* network :
       {"torus:4x4?ranks=0-5", "hypercube:4?ranks=0-10", "ring:12?ranks=0,1,5,6,9"}) {
    SCOPED_TRACE(network);
    const Topology topology = make_topology(network);
    EXPECT_LT(over_least("forest", topology, Collective::AllGather, 1 << 30), 1.03);
    EXPECT_LT(over_least("forest", topology, Collective::ReduceScatter, 1 << 30), 1.03);
  }
}

}  // namespace
/// What goes over an adapter leaves before copies for the box, and few trees need few messages.
TEST(MessageCosts, GatheringsBetweenBoxesAreNearTheLeastTime) {
  for (const char* network : {"dgx-a100:2", "dgx-h100:2", "dgx-b200:2", "mi300x:2"}) {
    SCOPED_TRACE(network);
    const Topology topology = make_topology(network);
    EXPECT_LT(over_least("forest", topology, Collective::AllGather, 64 << 20), 1.16);
    EXPECT_LT(over_least("forest", topology, Collective::ReduceScatter, 64 << 20), 1.18);
  }
}

}  // namespace multitree
