// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rings: embeddings, and step counts known from theory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

std::uint32_t steps(std::string_view algorithm, const Topology& topology, Collective collective) {
  return make_schedule(algorithm, topology, collective).num_steps();
}

class Ring : public testing::TestWithParam<std::string> {};

TEST_P(Ring, NeedsOneStepForEachOtherRank) {
  const Topology topology = make_topology(GetParam());
  const std::uint32_t others = topology.num_ranks() - 1;
  EXPECT_EQ(steps("ring", topology, Collective::AllGather), others);
  EXPECT_EQ(steps("ring", topology, Collective::ReduceScatter), others);
  EXPECT_EQ(steps("ring", topology, Collective::AllReduce), 2 * others);
}

INSTANTIATE_TEST_SUITE_P(Networks, Ring,
                         testing::Values("torus:4x4", "torus:5x5", "torus:3x5", "torus:4x2",
                                         "torus:2x2", "torus:3x3x3", "torus:3x5x7", "torus:2x3x5",
                                         "torus:5x1x4", "mesh:4x4", "mesh:3x3", "mesh:5x5",
                                         "mesh:3x4", "mesh:4x3", "mesh:7", "mesh:3x3x3",
                                         "mesh:3x5x3", "hypercube:3", "hypercube:5", "full:6",
                                         "star:7", "fattree:4x4", "bigraph:4x8", "ring:1", "ring:2",
                                         "ring:3", "ring:16", "torus:4x4?without=0-1"));

TEST(RingOrder, VisitsEveryRankOnce) {
  for (const TopologyFamily& family : topology_families()) {
    const Topology topology = make_topology(family.example);
    const std::vector<Rank> order = ring_order(topology);
    EXPECT_EQ(order.size(), topology.num_ranks()) << family.example;
    EXPECT_EQ(std::set<Rank>(order.begin(), order.end()).size(), order.size()) << family.example;
  }
}

TEST(RingOrder, IsTheDrawnOneInGrids) {
  const auto order = [](const std::vector<std::uint32_t>& dims) {
    std::vector<std::uint32_t> ranks;
    for (const Rank rank : grid_cycle(dims)) ranks.push_back(index(rank));
    return ranks;
  };
  EXPECT_THAT(order({4, 4}),
              testing::ElementsAre(0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4));
  EXPECT_THAT(order({3, 3}), testing::ElementsAre(0, 1, 2, 5, 4, 7, 8, 6, 3));
  EXPECT_THAT(order({5}), testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(order({}), testing::ElementsAre(0));
}

/// A torus as a file would give it: no shape, ranks in an order that hides the structure.
Topology anonymous_torus(std::uint32_t width, std::uint32_t height) {
  const std::uint32_t ranks = width * height;
  TopologyBuilder builder("anonymous");
  for (std::uint32_t i = 0; i < ranks; ++i) builder.add_endpoint();
  const auto label = [&](std::uint32_t x, std::uint32_t y) {
    return NodeId{(x % width + width * (y % height)) * 7 % ranks};
  };
  for (std::uint32_t x = 0; x < width; ++x) {
    for (std::uint32_t y = 0; y < height; ++y) {
      builder.add_duplex(label(x, y), label(x + 1, y), {1}, {});
      builder.add_duplex(label(x, y), label(x, y + 1), {1}, {});
    }
  }
  return std::move(builder).build();
}

TEST(RingOrder, FindsACycleInUnknownNetworks) {
  for (const auto& [width, height] : {std::pair(4U, 4U), std::pair(5U, 5U), std::pair(8U, 8U)}) {
    const Topology topology = anonymous_torus(width, height);
    EXPECT_EQ(find_hamiltonian_cycle(topology).size(), topology.num_ranks());
    EXPECT_EQ(steps("ring", topology, Collective::AllGather), topology.num_ranks() - 1);
  }
}

TEST(RingOrder, FindsNoCycleWhereThereIsNone) {
  EXPECT_TRUE(find_hamiltonian_cycle(make_topology("mesh:3x3")).empty());
  EXPECT_TRUE(find_hamiltonian_cycle(make_topology("mesh:5")).empty());
  EXPECT_TRUE(find_hamiltonian_cycle(make_topology("star:5")).empty());
}

TEST(BidirectionalRing, HalvesTheTimeWhereBothDirectionsAreFree) {
  for (const std::string network : {"ring:3", "ring:8", "torus:4x4", "torus:3x3", "mesh:4x5"}) {
    const Topology topology = make_topology(network);
    const Schedule schedule = make_schedule("bidirectional-ring", topology, Collective::AllGather);
    EXPECT_EQ(schedule.chunks.size(), 2 * topology.num_ranks());
    EXPECT_EQ(schedule.num_steps(), topology.num_ranks() - 1) << network;
  }
  // Two links in all: both directions share them.
  EXPECT_EQ(steps("bidirectional-ring", make_topology("ring:2"), Collective::AllGather), 2U);
}

TEST(PipelinedChain, FillsOnceAndThenKeepsUp) {
  const Topology topology = make_topology("ring:9");
  for (const std::uint32_t segments : {1U, 4U, 32U}) {
    const std::string option = "?segments=" + std::to_string(segments);
    EXPECT_EQ(steps("ring" + option, topology, Collective::Broadcast), 8 + segments - 1);
    EXPECT_EQ(steps("ring" + option, topology, Collective::Reduce), 8 + segments - 1);
    EXPECT_EQ(steps("bidirectional-ring" + option, topology, Collective::Broadcast),
              8 + segments - 1);
  }
}

struct Ring2d {
  std::string network;
  std::uint32_t all_gather, all_reduce;  ///< steps
};
void PrintTo(const Ring2d& ring, std::ostream* out) { *out << ring.network; }

class Ring2dSteps : public testing::TestWithParam<Ring2d> {};

/// All-gather: 4 parts a shard; the second dimension of n ranks passes whole lines, so N-1 steps if
/// square. All-reduce: 2(n-1) steps in each dimension, of 1/(4n) of the vector; on 8x8 28 steps of
/// 1/32, that is 56 shard times, the figure of the MULTITREE paper's comparison.
TEST_P(Ring2dSteps, MatchTheory) {
  const Topology topology = make_topology(GetParam().network);
  EXPECT_EQ(steps("ring2d", topology, Collective::AllGather), GetParam().all_gather);
  EXPECT_EQ(steps("ring2d", topology, Collective::AllReduce), GetParam().all_reduce);
}

INSTANTIATE_TEST_SUITE_P(Tori, Ring2dSteps,
                         testing::Values(Ring2d{"torus:3x3", 8, 8}, Ring2d{"torus:4x4", 15, 12},
                                         Ring2d{"torus:5x5", 24, 16}, Ring2d{"torus:8x8", 63, 28},
                                         Ring2d{"torus:4x1x4", 15, 12}));

}  // namespace
}  // namespace multitree
