// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce trees on any network are as fast as the optimum, and do an all-reduce.
#include "algorithms/packing/trees/switched_all_reduce.hpp"

#include <gtest/gtest.h>

#include <random>

#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/verify.hpp"
#include "packing_checks.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

void expect_optimal(const Topology& topology) {
  const TreePacking packing = pack_switched_all_reduce(topology);
  EXPECT_EQ(load(packing, topology), solve_all_reduce_lp(topology).time);
  EXPECT_LE(packing.trees.size(), 2 * topology.num_links() + 1);
  const VerifyReport report = verify(time_trees(packing, topology), topology);
  EXPECT_TRUE(report.ok()) << report.violations.front().message;
}

TEST(SwitchedAllReduce, RandomNetworks) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 250; ++i) {
    const RandomNetwork shape{.ranks = 1 + pick(random, 10),
                              .switches = pick(random, 5),
                              .extra_links = pick(random, 12),
                              .most_bandwidth = 1 + pick(random, 3)};
    SCOPED_TRACE(i);
    expect_optimal(random_network(random, shape));
  }
}

/// Links one way: a ring, and chords.
Topology one_way(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t chords) {
  TopologyBuilder builder("one-way");
  for (std::uint32_t r = 0; r < ranks; ++r) builder.add_endpoint();
  const Bandwidth bandwidth{1000000000};
  for (std::uint32_t r = 0; r < ranks; ++r) {
    builder.add_link(NodeId{r}, NodeId{(r + 1) % ranks}, bandwidth, Time{1});
  }
  for (std::uint32_t i = 0; i < chords; ++i) {
    const std::uint32_t a = pick(random, ranks), b = pick(random, ranks);
    if (a != b) builder.add_link(NodeId{a}, NodeId{b}, bandwidth, Time{1});
  }
  return std::move(builder).build();
}

TEST(SwitchedAllReduce, LinksWithoutMates) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 150; ++i) {
    SCOPED_TRACE(i);
    const std::uint32_t ranks = 2 + pick(random, 8);
    expect_optimal(one_way(random, ranks, pick(random, 12)));
  }
}

TEST(SwitchedAllReduce, Families) {
  for (const char* network : {"star:6", "fattree:4x4", "mesh:3x4", "dgx-a100:1", "full:2"}) {
    SCOPED_TRACE(network);
    expect_optimal(make_topology(network));
  }
}

/// Boxes of 8 GPUs with an adapter each: equal trees are found, but not quickly, and the weights of
/// the linear program have no unit that can be counted.
TEST(SwitchedAllReduce, LooksNoLongerForEqualTreesThanIsAskedFor) {
  const Topology boxes = make_topology("mi300x:2");
  const Exact least = solve_all_reduce_lp(boxes).time;
  EXPECT_EQ(load(pack_switched_all_reduce(boxes, EqualTrees::IfAny), boxes), least);
  const Exact rounded = load(pack_switched_all_reduce(boxes, EqualTrees::IfQuickly), boxes);
  EXPECT_GT(rounded, least);
  EXPECT_LT(rounded, least * (1 + Exact(1, std::int64_t{1} << 40)));
}

TEST(SwitchedAllReduce, FewTreesInTheirMiddles) {
  const TreePacking packing = pack_switched_all_reduce(make_topology("mesh:4x4"));
  std::uint64_t weight = 0;
  for (const PackedTree& tree : packing.trees) weight += tree.weight;
  EXPECT_EQ(weight, 8U);
  EXPECT_LE(depth(packing), 8U);
}

}  // namespace
}  // namespace multitree
