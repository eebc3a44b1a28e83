// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Validation, indices and mates of a Topology.
#include "topologies/topology.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::ElementsAre;

constexpr Bandwidth kFast{50'000'000'000}, kSlow{16'000'000'000};
constexpr Time kLatency{150'000};

TEST(Topology, OneRankWithoutLinksIsValid) {
  TopologyBuilder builder("one");
  builder.add_endpoint();
  const Topology topology = std::move(builder).build();
  EXPECT_EQ(topology.num_ranks(), 1U);
  EXPECT_EQ(topology.node(NodeId{0}).name, "n0");
  EXPECT_EQ(topology.unit_bandwidth(), Bandwidth{});
  EXPECT_TRUE(topology.is_symmetric());
  EXPECT_FALSE(topology.has_switches());
  EXPECT_TRUE(topology.out_links(NodeId{0}).empty());
  EXPECT_EQ(topology.transposed(), topology);
}

// 0 =2=> 1 (parallel), 1 -> 0 twice, 1 <-> sw <-> 0 with other speeds.
Topology make_example() {
  TopologyBuilder builder("example");
  const NodeId a = builder.add_endpoint("a", Rank{1}), b = builder.add_endpoint("b", Rank{0});
  const NodeId sw = builder.add_switch("sw");
  builder.add_link(a, b, kSlow, kLatency);     // 0
  builder.add_link(b, a, kSlow, kLatency);     // 1
  builder.add_link(a, b, kSlow, kLatency);     // 2
  builder.add_link(b, a, kSlow, kLatency);     // 3
  builder.add_duplex(a, sw, kFast, kLatency);  // 4, 5
  builder.add_link(sw, b, kFast, kLatency);    // 6
  builder.add_link(b, sw, kFast, Time{});      // 7: no mate of 6, the latency differs
  return std::move(builder).build();
}

TEST(Topology, KnowsItsRanksAndLinks) {
  const Topology topology = make_example();
  EXPECT_EQ(topology.node_of(Rank{0}), NodeId{1});
  EXPECT_EQ(topology.node_of(Rank{1}), NodeId{0});
  EXPECT_TRUE(topology.has_switches());
  EXPECT_TRUE(topology.node(NodeId{2}).is_switch());
  EXPECT_THAT(topology.out_links(NodeId{0}), ElementsAre(LinkId{0}, LinkId{2}, LinkId{4}));
  EXPECT_THAT(topology.in_links(NodeId{0}), ElementsAre(LinkId{1}, LinkId{3}, LinkId{5}));
  EXPECT_THAT(topology.in_links(NodeId{2}), ElementsAre(LinkId{4}, LinkId{7}));
}

TEST(Topology, CountsSlotsInUnitsOfTheSlowestLink) {
  const Topology topology = make_example();
  EXPECT_EQ(topology.unit_bandwidth(), kSlow);
  EXPECT_EQ(topology.slots(LinkId{0}), 1U);
  EXPECT_EQ(topology.slots(LinkId{4}), 3U);  // floor(50/16)
}

TEST(Topology, PairsParallelLinksInAscendingOrder) {
  const Topology topology = make_example();
  EXPECT_EQ(topology.mate(LinkId{0}), LinkId{1});
  EXPECT_EQ(topology.mate(LinkId{1}), LinkId{0});
  EXPECT_EQ(topology.mate(LinkId{2}), LinkId{3});
  EXPECT_EQ(topology.mate(LinkId{4}), LinkId{5});
  EXPECT_EQ(topology.mate(LinkId{6}), std::nullopt);
  EXPECT_EQ(topology.mate(LinkId{7}), std::nullopt);
  EXPECT_FALSE(topology.is_symmetric());
}

TEST(Topology, TransposingTurnsLinksAroundAndKeepsIds) {
  const Topology topology = make_example(), turned = topology.transposed();
  EXPECT_EQ(turned.name(), "example");
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    EXPECT_EQ(turned.link(LinkId{id}).src, topology.link(LinkId{id}).dst);
    EXPECT_EQ(turned.link(LinkId{id}).dst, topology.link(LinkId{id}).src);
    EXPECT_EQ(turned.mate(LinkId{id}), topology.mate(LinkId{id}));
    EXPECT_EQ(turned.slots(LinkId{id}), topology.slots(LinkId{id}));
  }
  EXPECT_THAT(turned.out_links(NodeId{0}), ElementsAre(LinkId{1}, LinkId{3}, LinkId{5}));
  EXPECT_NE(turned, topology);
  EXPECT_EQ(turned.transposed(), topology);
}

struct BadNetwork {
  const char* message;
  std::function<void(TopologyBuilder&)> change;  // of the duplex pair 0 -- 1
};

void PrintTo(const BadNetwork& bad, std::ostream* out) { *out << slug(bad.message); }

class BadTopology : public testing::TestWithParam<BadNetwork> {};

TEST_P(BadTopology, IsRefusedNamingThePart) {
  TopologyBuilder builder("bad");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint();
  builder.add_duplex(a, b, kSlow, kLatency);
  GetParam().change(builder);
  EXPECT_EQ(error_of(ErrorCode::InvalidInput, [&] { (void)std::move(builder).build(); }),
            GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTopology,
    testing::Values(
        BadNetwork{"link 0->1 (n0->n1): bandwidth must be > 0, got 0B/s",
                   [](auto& b) { b.add_link(NodeId{0}, NodeId{1}, Bandwidth{}, kLatency); }},
        BadNetwork{"link 0->1 (n0->n1): latency must be from 0s to 1s, got -5ps",
                   [](auto& b) { b.add_link(NodeId{0}, NodeId{1}, kSlow, Time{-5}); }},
        BadNetwork{"link 1->1 (n1->n1): it joins a node to itself",
                   [](auto& b) { b.add_link(NodeId{1}, NodeId{1}, kSlow, kLatency); }},
        BadNetwork{"link 0->7 (n0->?): there is no node 7, nodes are 0..1",
                   [](auto& b) { b.add_link(NodeId{0}, NodeId{7}, kSlow, kLatency); }},
        BadNetwork{"node 2 (n1): node 1 has the same name", [](auto& b) { b.add_switch("n1"); }},
        BadNetwork{"node 2 (): the name is empty", [](auto& b) { b.add_switch(""); }},
        BadNetwork{"node 2 (x\ny): the name must be UTF-8 without control characters",
                   [](auto& b) { b.add_switch("x\ny"); }},
        BadNetwork{"node 2 (c): rank 1 is already that of node 1 (n1)",
                   [](auto& b) { b.add_endpoint("c", Rank{1}); }},
        BadNetwork{"node 2 (c): ranks must be 0..2, each once, got 5",
                   [](auto& b) { b.add_endpoint("c", Rank{5}); }},
        BadNetwork{"rank 2 (n2) cannot reach rank 0 (n0)",
                   [](auto& b) { b.add_link(NodeId{0}, b.add_endpoint(), kSlow, kLatency); }},
        BadNetwork{"rank 0 (n0) cannot reach rank 2 (n2)",
                   [](auto& b) { b.add_link(b.add_endpoint(), NodeId{0}, kSlow, kLatency); }}));

/// Of a process that makes one and ends; bytes.
std::uint64_t memory_of(const char* spec) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool made = make_topology(spec).num_ranks() > 1;
    ::_exit(made ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  EXPECT_EQ(status, 0);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

TEST(Topology, OfAMillionLinksTakesFewHundredBytesEach) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have memory of their own";
#endif
  // 2 * (4 * 65535 + 3 * 65536) links
  EXPECT_LT(memory_of("mesh:65536x4") / 917'496, 170U);
}

TEST(Topology, NeedsARank) {
  TopologyBuilder builder("switches only");
  builder.add_switch("sw");
  EXPECT_EQ(error_of(ErrorCode::InvalidInput, [&] { (void)std::move(builder).build(); }),
            "the topology has no rank");
}

TEST(Topology, SwitchesMayBeUnreachable) {
  TopologyBuilder builder("spare switch");
  builder.add_endpoint();
  builder.add_switch("spare");
  EXPECT_EQ(std::move(builder).build().num_nodes(), 2U);
}

}  // namespace
}  // namespace multitree
