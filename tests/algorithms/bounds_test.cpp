// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bounds against closed forms, and against brute force over all cuts of small random networks.
#include "algorithms/bounds.hpp"

#include <gtest/gtest.h>

#include <random>

#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

struct KnownBound {
  const char* spec;
  Rational all_gather;
  std::uint32_t diameter;
};

void PrintTo(const KnownBound& known, std::ostream* out) { *out << known.spec; }

class KnownBounds : public testing::TestWithParam<KnownBound> {};

// (N-1) / (in-degree of the poorest rank) on all of these; switched ones: over the rank's own link.
TEST_P(KnownBounds, MatchTheory) {
  const Bounds bounds = compute_bounds(make_topology(GetParam().spec));
  EXPECT_EQ(bounds.all_gather, GetParam().all_gather);
  EXPECT_EQ(bounds.reduce_scatter, GetParam().all_gather);
  EXPECT_EQ(bounds.diameter, GetParam().diameter);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, KnownBounds,
    testing::Values(KnownBound{"ring:1", 0, 0}, KnownBound{"ring:2", 1, 1},
                    KnownBound{"ring:8", {7, 2}, 4}, KnownBound{"torus:4x4", {15, 4}, 4},
                    KnownBound{"torus:8x8", {63, 4}, 8}, KnownBound{"torus:4x2", {7, 3}, 3},
                    KnownBound{"torus:2x16", {31, 3}, 9}, KnownBound{"torus:4x4x4", {21, 2}, 6},
                    KnownBound{"mesh:8x8", {63, 2}, 14}, KnownBound{"mesh:2x16", {31, 2}, 16},
                    KnownBound{"mesh:5", 4, 4}, KnownBound{"full:7", 1, 1},
                    KnownBound{"star:5", 4, 1}, KnownBound{"torus:16x16", {255, 4}, 16}));

TEST(Bounds, NameTheBottleneck) {
  const Bounds bounds = compute_bounds(make_topology("mesh:4x4"));
  EXPECT_EQ(bounds.bottleneck.size(), 15U);  // everybody but a corner
}

TEST(Bounds, IdealBandwidthOfATorus) {
  // 4 links of 16 GB/s into every rank; busbw counts 2(n-1)/n of the buffer, reduced and gathered
  // one after the other.
  const Bounds bounds = compute_bounds(make_topology("torus:8x8?bw=16GB/s"));
  EXPECT_NEAR(bounds.ideal_busbw(), 64.0, 1e-9);
}

TEST(Bounds, OfTwoBoxesAreTheSlowLinksBetweenThem) {
  // Two fully connected boxes of three ranks, one slow link between: three shards must cross it.
  TopologyBuilder builder("boxes");
  std::vector<NodeId> node;
  for (int i = 0; i < 6; ++i) node.push_back(builder.add_endpoint());
  for (int box = 0; box < 2; ++box) {
    for (int i = 0; i < 3; ++i) {
      for (int j = i + 1; j < 3; ++j) {
        builder.add_duplex(node[3 * box + i], node[3 * box + j], Bandwidth{10'000'000'000},
                           Time{0});
      }
    }
  }
  builder.add_duplex(node[2], node[3], Bandwidth{1'000'000'000}, Time{0});
  const Bounds bounds = compute_bounds(std::move(builder).build());
  EXPECT_EQ(bounds.all_gather, Rational(3));
  EXPECT_EQ(bounds.bottleneck.size(), 3U);
}

/// A strongly connected network of `ranks` ranks and some switches with random links.
Topology random_network(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t switches) {
  TopologyBuilder builder("random");
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < ranks; ++i) nodes.push_back(builder.add_endpoint());
  for (std::uint32_t i = 0; i < switches; ++i)
    nodes.push_back(builder.add_switch("s" + std::to_string(i)));
  std::shuffle(nodes.begin(), nodes.end(), random);
  const auto bandwidth = [&] { return Bandwidth{(1 + random() % 7) * 1'000'000'000}; };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    builder.add_link(nodes[i], nodes[(i + 1) % nodes.size()], bandwidth(), Time{0});
  }
  for (std::uint32_t extra = 0; extra < 2 * nodes.size(); ++extra) {
    const std::size_t a = random() % nodes.size(), b = random() % nodes.size();
    if (a != b) builder.add_link(nodes[a], nodes[b], bandwidth(), Time{0});
  }
  return std::move(builder).build();
}

std::int64_t leaving(const Topology& topology, std::uint32_t set) {
  std::int64_t bandwidth = 0;
  for (const Link& link : topology.links()) {
    if ((set >> index(link.src) & 1) != 0 && (set >> index(link.dst) & 1) == 0) {
      bandwidth += static_cast<std::int64_t>(link.bandwidth.bytes_per_second);
    }
  }
  return bandwidth;
}

std::int64_t ranks_in(const Topology& topology, std::uint32_t set) {
  std::int64_t count = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    count += set >> index(topology.node_of(Rank{r})) & 1;
  }
  return count;
}

TEST(Bounds, EqualBruteForceOverAllCuts) {
  std::mt19937_64 random(20210614);
  for (int round = 0; round < 60; ++round) {
    const Topology topology = random_network(random, 2 + round % 5, round % 4);
    const auto unit = static_cast<std::int64_t>(topology.unit_bandwidth().bytes_per_second);
    Rational all_gather = 0;
    std::int64_t broadcast_cut = INT64_MAX;
    for (std::uint32_t set = 1; set < (1U << topology.num_nodes()); ++set) {
      const std::int64_t inside = ranks_in(topology, set);
      if (inside == topology.num_ranks()) continue;
      if (inside > 0) {
        all_gather =
            std::max(all_gather, Rational(inside) * Rational(unit, leaving(topology, set)));
      }
      if ((set >> index(topology.node_of(Rank{1})) & 1) != 0) {
        broadcast_cut = std::min(broadcast_cut, leaving(topology, set));
      }
    }
    EXPECT_EQ(compute_bounds(topology).all_gather, all_gather) << "round " << round;
    EXPECT_EQ(broadcast_bound(topology, Rank{1}),
              Rational(topology.num_ranks()) * Rational(unit, broadcast_cut))
        << "round " << round;
  }
}

TEST(Bounds, SayWhenTheirSumDoesNotFit) {
  // Rank 0 is hard to reach and rank 1 hard to get away from, by odd bandwidths.
  TopologyBuilder builder("odd");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint(), c = builder.add_endpoint();
  const Bandwidth slow{1'000'000'007}, odd{9'000'000'011}, odder{9'000'000'029};
  const Bandwidth fast{100'000'000'003};
  builder.add_link(b, a, slow, Time{0});
  builder.add_link(c, a, odd, Time{0});
  builder.add_link(b, c, odder, Time{0});
  builder.add_link(a, b, fast, Time{0});
  builder.add_link(a, c, fast, Time{0});
  builder.add_link(c, b, fast, Time{0});
  EXPECT_THROW(compute_bounds(std::move(builder).build()), Error);
}

}  // namespace
}  // namespace multitree
