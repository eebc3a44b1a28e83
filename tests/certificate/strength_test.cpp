// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Strength against all partitions of small networks and closed forms of large ones.
#include "algorithms/certificate/strength.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "networks.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// b(E_P) / (|P| - 1) in units of the slowest link, by the directed links and halved.
Exact ratio(const Topology& topology, const std::vector<std::uint32_t>& class_of) {
  Exact between = 0;
  for (const Link& link : topology.links()) {
    if (class_of[index(link.src)] != class_of[index(link.dst)]) {
      between += link.bandwidth.bytes_per_second;
    }
  }
  const std::uint32_t classes = *std::ranges::max_element(class_of) + 1;
  return between / 2 / (classes - 1) / topology.unit_bandwidth().bytes_per_second;
}

/// The least ratio of all partitions, enumerated as restricted growth strings.
Exact least_ratio(const Topology& topology) {
  std::vector<std::uint32_t> class_of(topology.num_nodes(), 0);
  Exact least = -1;
  const auto extend = [&](const auto& self, std::uint32_t node, std::uint32_t classes) -> void {
    if (node == class_of.size()) {
      if (classes < 2) return;
      const Exact value = ratio(topology, class_of);
      if (least < 0 || value < least) least = value;
      return;
    }
    for (std::uint32_t c = 0; c <= classes; ++c) {
      class_of[node] = c;
      self(self, node + 1, std::max(classes, c + 1));
    }
  };
  extend(extend, 0, 0);
  return least;
}

/// The classes are a partition, listed in order, and have the value.
void expect_attained(const Strength& weakest, const Topology& topology) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> class_of(topology.num_nodes(), kNone);
  for (std::uint32_t c = 0; c < weakest.classes.size(); ++c) {
    ASSERT_FALSE(weakest.classes[c].empty());
    EXPECT_TRUE(std::ranges::is_sorted(weakest.classes[c]));
    for (const NodeId node : weakest.classes[c]) {
      EXPECT_EQ(class_of[index(node)], kNone);
      class_of[index(node)] = c;
    }
  }
  EXPECT_EQ(std::ranges::count(class_of, kNone), 0);
  EXPECT_TRUE(std::ranges::is_sorted(weakest.classes));
  EXPECT_EQ(ratio(topology, class_of), weakest.value);
}

TEST(Strength, EqualsBruteForceOverAllPartitions) {
  std::mt19937_64 random(1961);
  for (std::uint32_t round = 0; round < 300; ++round) {
    const std::uint32_t ranks = 2 + round % 6;
    const Topology topology =
        test::random_direct(random, ranks, round % 11, round % 3 == 0 ? 1 : 9);
    const Strength weakest = strength(topology);
    ASSERT_EQ(weakest.value, least_ratio(topology)) << "round " << round;
    expect_attained(weakest, topology);
  }
}

TEST(Strength, EqualsBruteForceOnEightRanks) {
  std::mt19937_64 random(1985);
  for (std::uint32_t round = 0; round < 12; ++round) {
    const Topology topology = test::random_direct(random, 8, 2 * round, 5);
    ASSERT_EQ(strength(topology).value, least_ratio(topology)) << "round " << round;
  }
}

TEST(Strength, OfLargeNetworksHasClosedForms) {
  // All links over the ranks but one, where no part is weaker than the whole.
  for (const char* spec : {"torus:32x32", "mesh:32x32", "hypercube:10", "torus:10x10x10",
                           "mesh:2x512", "mesh:5x6x7", "full:64", "ring:1000", "torus:1x7"}) {
    const Topology topology = make_topology(spec);
    const Strength weakest = strength(topology);
    EXPECT_EQ(weakest.value, Exact(topology.num_links() / 2, topology.num_ranks() - 1)) << spec;
    expect_attained(weakest, topology);
  }
}

TEST(Strength, FindsWeakPlaces) {
  // Two full networks of 20 ranks, and one link between them that decides.
  TopologyBuilder builder("dumbbell");
  for (std::uint32_t r = 0; r < 40; ++r) builder.add_endpoint();
  for (std::uint32_t a = 0; a < 40; ++a) {
    for (std::uint32_t b = a + 1; b < 40; ++b) {
      if (a / 20 == b / 20) builder.add_duplex(NodeId{a}, NodeId{b}, Bandwidth{2}, Time{0});
    }
  }
  builder.add_duplex(NodeId{7}, NodeId{33}, Bandwidth{3}, Time{0});
  const Strength weakest = strength(std::move(builder).build());
  EXPECT_EQ(weakest.value, Exact(3, 2));
  EXPECT_EQ(weakest.classes.size(), 2U);
}

TEST(Strength, OfParallelLinksAddsThemUp) {
  TopologyBuilder builder("pair");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint();
  builder.add_duplex(a, b, Bandwidth{3}, Time{1});
  builder.add_duplex(a, b, Bandwidth{5}, Time{2});
  EXPECT_EQ(strength(std::move(builder).build()).value, Exact(8, 3));
}

TEST(Strength, OfOneRankIsNothing) {
  const Strength weakest = strength(make_topology("ring:1"));
  EXPECT_EQ(weakest.value, 0);
  EXPECT_EQ(weakest.classes, (std::vector<std::vector<NodeId>>{{NodeId{0}}}));
}

TEST(Strength, IsUndefinedWithSwitchesOrOneWay) {
  EXPECT_FALSE(has_strength(make_topology("star:4")));
  EXPECT_THROW((void)strength(make_topology("star:4")), Error);
  TopologyBuilder builder("circle");
  for (std::uint32_t r = 0; r < 3; ++r) builder.add_endpoint();
  for (std::uint32_t r = 0; r < 3; ++r) {
    builder.add_link(NodeId{r}, NodeId{(r + 1) % 3}, Bandwidth{1}, Time{0});
  }
  const Topology circle = std::move(builder).build();
  EXPECT_FALSE(has_strength(circle));
  EXPECT_THROW((void)strength(circle), Error);
}

}  // namespace
}  // namespace multitree
