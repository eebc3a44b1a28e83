// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packings of out-trees meet the all-gather bound exactly, whatever the network.
#include "algorithms/packing/trees/arborescences.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/packing/trees/arborescences_internal.hpp"
#include "packing_checks.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

Exact exact(const Rational& value) { return Exact(value.numerator(), value.denominator()); }

/// Packs at the bound and checks everything; returns the packing.
TreePacking expect_optimal(const Topology& topology) {
  const ScaledDemand scaled = scale_to_all_gather_bound(topology);
  const std::vector<std::int64_t> demand(topology.num_ranks(), scaled.trees);
  TreePacking packing = pack_arborescences(topology, scaled.capacity, demand);
  expect_packs(packing, topology, scaled.capacity, demand);
  EXPECT_TRUE(load(packing, topology) == exact(compute_bounds(topology).all_gather));
  return packing;
}

struct RandomCase {
  const char* name;
  std::uint32_t seed, count, most_ranks, most_switches, most_bandwidth;
};

void PrintTo(const RandomCase& c, std::ostream* out) { *out << c.name; }

class RandomNetworks : public testing::TestWithParam<RandomCase> {};

TEST_P(RandomNetworks, ArePackedAtTheBound) {
  std::mt19937_64 random(GetParam().seed);
  for (std::uint32_t i = 0; i < GetParam().count && !HasFailure(); ++i) {
    RandomNetwork shape;
    shape.ranks = 1 + pick(random, GetParam().most_ranks);
    shape.switches = pick(random, GetParam().most_switches + 1);
    shape.extra_links = pick(random, 2 * (shape.ranks + shape.switches));
    shape.most_bandwidth = GetParam().most_bandwidth;
    SCOPED_TRACE(fmt::format("network {}: {} ranks, {} switches, {} extra links", i, shape.ranks,
                             shape.switches, shape.extra_links));
    expect_optimal(random_network(random, shape));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RandomNetworks,
                         testing::Values(RandomCase{"direct", 1, 500, 24, 0, 1},
                                         RandomCase{"direct_uneven", 2, 500, 24, 0, 5},
                                         RandomCase{"switched", 3, 500, 16, 8, 1},
                                         RandomCase{"switched_uneven", 4, 500, 16, 8, 4},
                                         RandomCase{"large_direct", 5, 200, 40, 0, 3},
                                         RandomCase{"large_switched", 6, 200, 28, 12, 3}),
                         [](const auto& test) { return test.param.name; });

/// The trees that are grown arc by arc, without the help of shortest paths or stars.
TEST(GrownTrees, MeetTheBoundAlone) {
  std::mt19937_64 random(7);
  for (std::uint32_t i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
    RandomNetwork shape;
    shape.ranks = 2 + pick(random, 16);
    shape.switches = pick(random, 7);
    shape.extra_links = pick(random, 40);
    shape.most_bandwidth = 4;
    const Topology topology = random_network(random, shape);
    const ScaledDemand scaled = scale_to_all_gather_bound(topology);
    const std::vector<std::int64_t> demand(topology.num_ranks(), scaled.trees);
    const std::vector<RankArc> arcs = split_off_switches(topology, scaled.capacity, demand);
    std::vector<std::int64_t> used(arcs.size(), 0), packed(topology.num_ranks(), 0);
    for (const PackedTree& tree : grow_trees(topology.num_ranks(), arcs, demand)) {
      std::vector<bool> reached(topology.num_ranks(), false);
      reached[index(tree.root)] = true;
      packed[index(tree.root)] += weight_of(tree);
      for (const TreeArc& arc : tree.gather) {
        const std::uint32_t a = rank_arc(arc);
        EXPECT_TRUE(reached[index(arcs[a].src)] && !reached[index(arcs[a].dst)]);
        reached[index(arcs[a].dst)] = true;
        used[a] += weight_of(tree);
      }
      EXPECT_EQ(std::ranges::count(reached, false), 0);
    }
    EXPECT_EQ(packed, demand);
    for (std::size_t a = 0; a < arcs.size(); ++a) EXPECT_LE(used[a], arcs[a].capacity);
  }
}

/// Capacity into the nodes of `far`, and the demand of the ranks that are not in it.
std::pair<std::int64_t, std::int64_t> cut_of(const Topology& topology, std::uint32_t far,
                                             std::span<const std::int64_t> capacity,
                                             std::span<const std::int64_t> demand) {
  const auto is_far = [&](NodeId node) { return (far >> index(node) & 1U) != 0; };
  std::pair<std::int64_t, std::int64_t> cut{0, 0};
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    if (is_far(link.dst) && !is_far(link.src)) cut.first += capacity[l];
  }
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (!is_far(topology.node_of(Rank{r}))) cut.second += demand[r];
  }
  return cut;
}

/// Whether every set of nodes that has a rank can be entered by all demands outside.
bool can_be_packed(const Topology& topology, std::span<const std::int64_t> capacity,
                   std::span<const std::int64_t> demand) {
  std::uint32_t ranks = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    ranks |= 1U << index(topology.node_of(Rank{r}));
  }
  for (std::uint32_t far = 1; far < 1U << topology.num_nodes(); ++far) {
    const auto [entering, needed] = cut_of(topology, far, capacity, demand);
    if ((far & ranks) != 0 && entering < needed) return false;
  }
  return true;
}

// Demands differ and may be zero, capacities have no pattern: what is possible by brute force is
// packed, and nothing else.
TEST(UnequalDemands, ArePackedIfAndOnlyIfNoCutForbidsIt) {
  std::mt19937_64 random(8);
  std::uint32_t possible = 0, impossible = 0;
  for (std::uint32_t i = 0; i < 1500 && !testing::Test::HasFailure(); ++i) {
    RandomNetwork shape;
    shape.ranks = 1 + pick(random, 6);
    shape.switches = pick(random, 3);
    shape.extra_links = pick(random, 10);
    shape.most_bandwidth = 6;
    const Topology topology = random_network(random, shape);
    std::vector<std::int64_t> capacity, demand;
    for (const Link& link : topology.links()) {
      capacity.push_back(static_cast<std::int64_t>(link.bandwidth.bytes_per_second / 1'000'000));
      // One way is enough between ranks, and switches must stay balanced.
      if (shape.switches == 0) capacity.back() = pick(random, 7);
    }
    for (std::uint32_t r = 0; r < shape.ranks; ++r) demand.push_back(pick(random, 4));
    if (can_be_packed(topology, capacity, demand)) {
      ++possible;
      expect_packs(pack_arborescences(topology, capacity, demand), topology, capacity, demand);
    } else {
      ++impossible;
      EXPECT_THROW(static_cast<void>(pack_arborescences(topology, capacity, demand)),
                   std::logic_error);
    }
  }
  EXPECT_GT(possible, 300U);
  EXPECT_GT(impossible, 300U);
}

struct KnownDepth {
  const char* spec;
  std::uint32_t depth;
};

void PrintTo(const KnownDepth& known, std::ostream* out) { *out << known.spec; }

class KnownDepths : public testing::TestWithParam<KnownDepth> {};

TEST_P(KnownDepths, AreReachedAtTheBound) {
  const Topology topology = make_topology(GetParam().spec);
  EXPECT_EQ(depth(expect_optimal(topology)), GetParam().depth);
}

// Direct networks: the diameter. Switches: stars on fat-trees, else one hop to each box or leaf.
INSTANTIATE_TEST_SUITE_P(Networks, KnownDepths,
                         testing::Values(KnownDepth{"torus:4x4", 4}, KnownDepth{"torus:8x8", 8},
                                         KnownDepth{"torus:4x4x4", 6}, KnownDepth{"torus:5x7", 5},
                                         KnownDepth{"mesh:8x8", 14}, KnownDepth{"mesh:2x16", 16},
                                         KnownDepth{"hypercube:6", 6},
                                         KnownDepth{"torus:16x16", 16}, KnownDepth{"full:9", 1},
                                         KnownDepth{"star:9", 1}, KnownDepth{"fattree:8x8", 1},
                                         KnownDepth{"bigraph:4x16", 2},
                                         KnownDepth{"bigraph:4x8", 2}, KnownDepth{"dgx-a100:1", 1},
                                         KnownDepth{"dgx-a100:2", 2}, KnownDepth{"dgx-a100:8", 2},
                                         KnownDepth{"dgx-h100:4", 2},
                                         KnownDepth{"dgx-a100:8?without=box0gpu0-ib0", 3},
                                         KnownDepth{"fattree:8x8?without=leaf0-spine0", 2}));

TEST(Packings, AreTheSameTwice) {
  const Topology topology = make_topology("mesh:4x5?without=0-1");
  const TreePacking one = expect_optimal(topology), two = expect_optimal(topology);
  ASSERT_EQ(one.trees.size(), two.trees.size());
  EXPECT_EQ(one.routes, two.routes);
  for (std::size_t t = 0; t < one.trees.size(); ++t) {
    EXPECT_EQ(one.trees[t].root, two.trees[t].root);
    EXPECT_EQ(one.trees[t].weight, two.trees[t].weight);
  }
}

}  // namespace
}  // namespace multitree
