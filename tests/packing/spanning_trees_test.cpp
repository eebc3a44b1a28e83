// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packings of spanning trees against the theorem of Nash-Williams and Tutte.
#include "algorithms/packing/trees/spanning_trees.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "algorithms/certificate/strength.hpp"
#include "algorithms/packing/steps/time_trees.hpp"
#include "algorithms/packing/trees/combs.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using Generator = std::mt19937_64;

std::uint32_t below(Generator& random, std::uint64_t bound) {
  return static_cast<std::uint32_t>(random() % bound);
}

/// Connected, with parallel links now and then; one bandwidth, a few, or any.
Topology random_network(std::uint32_t ranks, Generator& random) {
  TopologyBuilder builder("random");
  for (std::uint32_t r = 0; r < ranks; ++r) builder.add_endpoint();
  const std::uint32_t kind = below(random, 3);
  const auto bandwidth = [&]() -> Bandwidth {
    if (kind == 0) return {1'000'000'000};
    if (kind == 1) return {1'000'000'000ULL * (1 + below(random, 8))};
    return {1 + below(random, 1'000'000)};
  };
  for (std::uint32_t r = 1; r < ranks; ++r) {
    builder.add_duplex(NodeId{r}, NodeId{below(random, r)}, bandwidth(), Time{});
  }
  const std::uint32_t more = ranks < 2 ? 0 : below(random, 2 * ranks);
  for (std::uint32_t i = 0; i < more; ++i) {
    const std::uint32_t a = below(random, ranks), b = below(random, ranks);
    if (a != b) builder.add_duplex(NodeId{a}, NodeId{b}, bandwidth(), Time{});
  }
  return std::move(builder).build();
}

/// Least bandwidth between the classes over their number but one, of all partitions.
Exact strength_by_enumeration(const Topology& topology) {
  const std::uint32_t ranks = topology.num_ranks();
  std::vector<std::uint32_t> group(ranks, 0);
  Exact least = -1;
  const auto visit = [&](const auto& self, std::uint32_t rank, std::uint32_t groups) -> void {
    if (rank < ranks) {
      for (group[rank] = 0; group[rank] <= groups; ++group[rank]) {
        self(self, rank + 1, std::max(groups, group[rank] + 1));
      }
      return;
    }
    if (groups < 2) return;
    std::uint64_t crossing = 0;  // of both directions
    for (const Link& link : topology.links()) {
      if (group[index(link.src)] != group[index(link.dst)]) {
        crossing += link.bandwidth.bytes_per_second;
      }
    }
    const Exact value = Exact(crossing) / (2 * (groups - 1));
    if (least < 0 || value < least) least = value;
  };
  visit(visit, 0, 0);
  return least / Exact(topology.unit_bandwidth().bytes_per_second);
}

/// Reduce and gather arcs are one spanning tree, children before parents and the reverse.
void check_trees(const TreePacking& packing) {
  for (const PackedTree& tree : packing.trees) {
    EXPECT_GT(tree.weight, 0U);
    ASSERT_EQ(tree.gather.size(), packing.ranks - 1);
    ASSERT_EQ(tree.reduce.size(), packing.ranks - 1);
    std::vector<bool> in(packing.ranks, false);
    in[index(tree.root)] = true;
    for (std::size_t i = 0; i < tree.gather.size(); ++i) {
      const TreeArc& down = tree.gather[i];
      const TreeArc& up = tree.reduce[tree.gather.size() - 1 - i];
      EXPECT_TRUE(in[index(down.src)] && !in[index(down.dst)]);
      EXPECT_TRUE(up.src == down.dst && up.dst == down.src);
      in[index(down.dst)] = true;
    }
  }
}

void check_schedule(const TreePacking& packing, const Topology& topology) {
  const Schedule schedule = time_trees(packing, topology);
  const VerifyReport report = verify(schedule, topology);
  ASSERT_TRUE(report.ok()) << report.violations.front().message;
}

/// 700 networks of 2 to 8 ranks.
TEST(SpanningTrees, ReachTheStrengthOfSmallNetworks) {
  Generator random(7);
  for (std::uint32_t i = 0; i < 700; ++i) {
    SCOPED_TRACE(i);
    const Topology topology = random_network(2 + i % 7, random);
    const TreePacking packing = pack_spanning_trees(topology);
    check_trees(packing);
    EXPECT_EQ(load(packing, topology), topology.num_ranks() / strength_by_enumeration(topology));
    if (i % 4 == 0) check_schedule(packing, topology);
  }
}

/// 400 networks of 9 to 40 ranks.
TEST(SpanningTrees, ReachTheStrengthOfLargerNetworks) {
  Generator random(8);
  for (std::uint32_t i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    const Topology topology = random_network(9 + i % 32, random);
    const TreePacking packing = pack_spanning_trees(topology);
    check_trees(packing);
    EXPECT_EQ(load(packing, topology), topology.num_ranks() / strength(topology).value);
    if (i % 16 == 0) check_schedule(packing, topology);
  }
}

/// K equal trees on links of one bandwidth: the busiest carries ceil(K / strength) of them.
TEST(SpanningTrees, FewTreesLoadAsLittleAsWholeNumbersAllow) {
  for (const char* spec : {"mesh:4x4", "torus:3x4", "mesh:2x5", "full:5", "hypercube:3", "ring:6",
                           "torus:4x4?without=0-1"}) {
    const Topology topology = make_topology(spec);
    const Exact value = strength(topology).value;
    for (std::uint32_t trees = 1; trees <= 20; ++trees) {
      SCOPED_TRACE(fmt::format("{} {}", spec, trees));
      const TreePacking packing = pack_spanning_trees(topology, trees);
      check_trees(packing);
      ASSERT_EQ(packing.trees.size(), trees);
      const Exact exact_uses = trees / value;
      const auto uses =
          (numerator(exact_uses) + denominator(exact_uses) - 1) / denominator(exact_uses);
      EXPECT_EQ(load(packing, topology), Exact(uses * topology.num_ranks(), trees));
    }
  }
}

/// Unequal links, few trees: never better than the strength, nor worse than one more tree on every
/// link would make it.
TEST(SpanningTrees, FewTreesOnUnequalLinks) {
  Generator random(9);
  for (std::uint32_t i = 0; i < 100; ++i) {
    SCOPED_TRACE(i);
    const Topology topology = random_network(2 + i % 12, random);
    const std::uint32_t trees = 1 + i % 10;
    const TreePacking packing = pack_spanning_trees(topology, trees);
    check_trees(packing);
    const Exact least = topology.num_ranks() / strength(topology).value;
    EXPECT_GE(load(packing, topology), least);
    EXPECT_LE(load(packing, topology),
              least * (1 + Exact(static_cast<std::uint32_t>(topology.links().size()), trees)));
  }
}

TEST(SpanningTrees, OneRankNeedsNoLink) {
  const TreePacking packing = pack_spanning_trees(make_topology("mesh:1"));
  ASSERT_EQ(packing.trees.size(), 1U);
  EXPECT_TRUE(packing.trees[0].gather.empty());
}

TEST(SpanningTrees, RefuseSwitches) {
  EXPECT_THROW(pack_spanning_trees(make_topology("fattree:4x2x2")), Error);
}

TEST(SpanningTrees, SameInputSameTrees) {
  const Topology topology = make_topology("torus:5x5?without=3-4");
  const TreePacking first = pack_spanning_trees(topology), second = pack_spanning_trees(topology);
  EXPECT_EQ(first.routes, second.routes);
}

TEST(Combs, ReachTheStrengthOfMeshes) {
  for (const char* spec :
       {"mesh:2", "mesh:9", "mesh:1x5", "mesh:2x2", "mesh:2x7", "mesh:7x2", "mesh:4x6", "mesh:8x8",
        "mesh:3x1x5", "mesh:2x2x2", "mesh:3x3x3", "mesh:4x4x4", "mesh:2x2x2x2", "mesh:3x3x3x3"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const auto packing = pack_combs(topology);
    ASSERT_TRUE(packing.has_value());
    check_trees(*packing);
    EXPECT_EQ(load(*packing, topology), topology.num_ranks() / strength(topology).value);
    check_schedule(*packing, topology);
  }
}

TEST(Combs, LeaveOthersToTheSearch) {
  for (const char* spec : {"mesh:1", "mesh:1x1", "mesh:2x3x4", "torus:4x4", "mesh:4x4?without=0-1",
                           "mesh:3x3?bw=1GB/s,2GB/s", "star:4"}) {
    EXPECT_FALSE(pack_combs(make_topology(spec)).has_value()) << spec;
  }
}

/// Meshes of sizes that differ, in three and four dimensions.
TEST(SpanningTrees, ReachTheStrengthOfOddMeshes) {
  for (const char* spec :
       {"mesh:2x3x4", "mesh:1x2x3x4", "mesh:2x2x3x3", "mesh:5x2x2", "mesh:3x4?bw=1GB/s,3GB/s"}) {
    SCOPED_TRACE(spec);
    const Topology topology = make_topology(spec);
    const TreePacking packing = pack_spanning_trees(topology);
    EXPECT_EQ(load(packing, topology), topology.num_ranks() / strength(topology).value);
  }
}

}  // namespace
}  // namespace multitree
