// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// forest on every family: proven schedules whose packings reach the bounds; k trees a root.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/packing/trees/gather_packing.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "packing_checks.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

Exact exact(const Rational& value) { return Exact(value.numerator(), value.denominator()); }

std::vector<std::string> all_specs() {
  std::vector<std::string> specs = {"ring:1",
                                    "ring:2",
                                    "full:1",
                                    "star:1",
                                    "star:2",
                                    "torus:2x16",
                                    "mesh:2x7",
                                    "mesh:5x3",
                                    "hypercube:4",
                                    "torus:4x4?bw=50GB/s,25GB/s",
                                    "torus:4x4?without=0-1",
                                    "torus:4x4?without=0>1",
                                    "mesh:4x4?without=0-1,5-6",
                                    "fattree:3x5",
                                    "fattree:4x4?without=leaf0-spine0",
                                    "dgx-a100:1",
                                    "dgx-a100:2",
                                    "bigraph:3x8",
                                    "bigraph:2x2",
                                    "bigraph:4x4?uplink-bw=8GB/s"};
  for (const TopologyFamily& family : topology_families()) specs.emplace_back(family.example);
  return specs;
}

class Forest : public testing::TestWithParam<std::string> {};

TEST_P(Forest, TakesExactlyTheBound) {
  const Topology topology = make_topology(GetParam());
  EXPECT_TRUE(load(pack_all_gather(topology), topology) ==
              exact(compute_bounds(topology).all_gather));
  for (const Rank root : {Rank{0}, Rank{topology.num_ranks() - 1}}) {
    EXPECT_TRUE(load(pack_broadcast(topology, root), topology) ==
                exact(broadcast_bound(topology, root)));
  }
}

TEST_P(Forest, MakesProvenSchedules) {
  const Topology topology = make_topology(GetParam());
  for (const Collective collective : all_collectives()) {
    EXPECT_EQ(make_schedule("forest", topology, collective).collective, collective);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Forest, testing::ValuesIn(all_specs()));

/// Time of `trees` trees per root by brute force over times and cuts, in shard times.
Rational least_time_by_hand(const Topology& topology, std::int64_t trees) {
  const auto units = [&](const Link& link) {
    return static_cast<std::int64_t>(link.bandwidth.bytes_per_second / 1'000'000);
  };
  const auto is_enough = [&](Rational time, std::uint32_t far) {
    std::int64_t room = 0, needed = 0, reached = 0;
    for (const Link& link : topology.links()) {
      if ((far >> index(link.dst) & 1U) == 0 || (far >> index(link.src) & 1U) != 0) continue;
      room += boost::rational_cast<std::int64_t>(time * Rational(units(link)));
    }
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      const bool is_far = (far >> index(topology.node_of(Rank{r})) & 1U) != 0;
      ++(is_far ? reached : needed);
    }
    return reached == 0 || room >= needed * trees;
  };
  std::set<Rational> times;
  for (const Link& link : topology.links()) {
    for (std::int64_t n = 1; n <= trees * topology.num_ranks(); ++n) {
      times.insert(Rational(n, units(link)));
    }
  }
  std::int64_t slowest = units(topology.link(LinkId{0}));
  for (const Link& link : topology.links()) slowest = std::min(slowest, units(link));
  for (const Rational& time : times) {
    bool enough = true;
    for (std::uint32_t far = 1; enough && far < 1U << topology.num_nodes(); ++far) {
      enough = is_enough(time, far);
    }
    if (enough) return time * Rational(slowest, trees);
  }
  return 0;
}

TEST(FixedNumberOfTrees, TakesTheLeastTime) {
  std::mt19937_64 random(11);
  for (std::uint32_t i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
    RandomNetwork shape;
    shape.ranks = 2 + pick(random, 4);
    shape.switches = pick(random, 3);
    shape.extra_links = pick(random, 8);
    shape.most_bandwidth = 5;
    const Topology topology = random_network(random, shape);
    const std::uint32_t trees = 1 + pick(random, 3);
    EXPECT_TRUE(load(pack_all_gather(topology, trees), topology) ==
                exact(least_time_by_hand(topology, trees)))
        << "network " << i;
  }
}

TEST(FixedNumberOfTrees, OfATorusIsTheWholeNumberAboveTheBound) {
  const Topology topology = make_topology("torus:8x8");
  const TreePacking packing = pack_all_gather(topology, 1);
  EXPECT_EQ(packing.trees.size(), 64U);
  EXPECT_TRUE(load(packing, topology) == Exact(16));
  EXPECT_EQ(make_schedule("forest?k=1&segments=1", topology, Collective::AllGather).chunks.size(),
            64U);
}

// Each rank of a leaf has a spine of its own, so that all shifts are free of contention.
TEST(FatTrees, AreGatheredWithoutAnIdleStep) {
  for (const auto& [spec, steps] : {std::pair("fattree:4x4", 15U), std::pair("fattree:8x8", 63U)}) {
    const Schedule schedule = make_schedule("forest", make_topology(spec), Collective::AllGather);
    EXPECT_EQ(schedule.num_steps(), steps) << spec;
  }
}

/// Ranks around a switch; the first rank's way in is `extra` faster than its way out.
Topology lopsided_star(std::uint32_t ranks, std::uint64_t extra) {
  TopologyBuilder builder("lopsided");
  const NodeId hub = builder.add_switch("hub");
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const NodeId node = builder.add_endpoint();
    builder.add_link(node, hub, Bandwidth{1'000'000 + (r == 0 ? extra : 0)}, Time{0});
    builder.add_link(hub, node, Bandwidth{1'000'000}, Time{0});
  }
  return std::move(builder).build();
}

TEST(UnbalancedSwitches, AreServedWhereTheDifferenceIsNotNeeded) {
  const Topology topology = lopsided_star(5, 3'000'000);
  EXPECT_TRUE(load(pack_all_gather(topology), topology) ==
              exact(compute_bounds(topology).all_gather));
  EXPECT_EQ(make_schedule("forest", topology).collective, Collective::AllReduce);
}

/// The last trees get no detours for the first ones' sake.
TEST(Broadcasts, HaveTreesThatAreAllShallow) {
  struct Case {
    const char* network;
    std::uint32_t farthest, most;  // hops from the root; of a tree
  };
  for (const Case& one : {Case{"torus:4x4", 4, 5}, Case{"torus:4x4x4", 6, 7},
                          Case{"hypercube:5", 5, 6}, Case{"mesh:8x8", 14, 14}}) {
    SCOPED_TRACE(one.network);
    const Topology topology = make_topology(one.network);
    const TreePacking packing = pack_broadcast(topology, Rank{0});
    EXPECT_TRUE(load(packing, topology) == exact(broadcast_bound(topology, Rank{0})));
    EXPECT_GE(depth(packing), one.farthest);
    EXPECT_LE(depth(packing), one.most);
  }
}

}  // namespace
}  // namespace multitree
