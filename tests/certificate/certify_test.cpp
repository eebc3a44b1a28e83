// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates of all collectives: against every cut of small networks, and known optima.
#include "algorithms/certificate/certify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/strength.hpp"
#include "algorithms/certificate/tight_cuts.hpp"
#include "networks.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// Bandwidth that leaves a node set, in units of the slowest link.
Exact leaving(const Topology& topology, std::uint32_t set) {
  Exact sum = 0;
  for (const Link& link : topology.links()) {
    if ((set >> index(link.src) & 1) != 0 && (set >> index(link.dst) & 1) == 0) {
      sum += link.bandwidth.bytes_per_second;
    }
  }
  return sum / topology.unit_bandwidth().bytes_per_second;
}

std::uint32_t ranks_in(const Topology& topology, std::uint32_t set) {
  std::uint32_t count = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    count += set >> index(topology.node_of(Rank{r})) & 1;
  }
  return count;
}

/// The greatest bound that one cut proves, of all-gather, of broadcast from a root or of gather to
/// it.
Exact best_cut(const Topology& topology, Collective collective, Rank root) {
  Exact best = 0;
  for (std::uint32_t set = 1; set < (1U << topology.num_nodes()); ++set) {
    const std::uint32_t inside = ranks_in(topology, set);
    if (inside == topology.num_ranks()) continue;
    const bool has_root = (set >> index(topology.node_of(root)) & 1) != 0;
    std::uint32_t shards = inside;
    if (collective == Collective::Broadcast) shards = has_root ? topology.num_ranks() : 0;
    if (collective == Collective::Gather && has_root) shards = 0;
    if (shards > 0) best = std::max(best, Exact(shards / leaving(topology, set)));
  }
  return best;
}

void expect_certified(const Topology& topology, Collective collective, Rank root,
                      const Exact& bound) {
  SCOPED_TRACE(to_string(collective));
  const Certified certified = certify(topology, collective, root);
  EXPECT_EQ(certified.certificate.bound, bound);
  const CertificateReport report = check_certificate(certified.certificate, topology);
  EXPECT_TRUE(report.ok()) << report.violations.front().message;
}

TEST(Certify, OneCutEqualsBruteForceOverAllCuts) {
  std::mt19937_64 random(1956);
  for (std::uint32_t round = 0; round < 80; ++round) {
    SCOPED_TRACE(round);
    const Topology topology =
        test::random_switched(random, 1 + round % 5, round % 4, 1 + round % 7);
    const Topology transposed = topology.transposed();
    const Rank root{round % topology.num_ranks()};
    expect_certified(topology, Collective::AllGather, root,
                     best_cut(topology, Collective::AllGather, root));
    expect_certified(topology, Collective::ReduceScatter, root,
                     best_cut(transposed, Collective::AllGather, root));
    expect_certified(topology, Collective::Broadcast, root,
                     best_cut(topology, Collective::Broadcast, root));
    expect_certified(topology, Collective::Reduce, root,
                     best_cut(transposed, Collective::Broadcast, root));
    expect_certified(topology, Collective::Gather, root,
                     best_cut(topology, Collective::Gather, root));
    expect_certified(topology, Collective::Scatter, root,
                     best_cut(transposed, Collective::Gather, root));
  }
}

TEST(Certify, AllReduceIsBetweenItsHalvesAndTheirSum) {
  std::mt19937_64 random(1960);
  for (std::uint32_t round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const Topology topology = round % 2 == 0
                                  ? test::random_switched(random, 2 + round % 5, round % 3, 4)
                                  : test::random_direct(random, 2 + round % 6, round % 9, 4);
    const Bounds bounds = compute_bounds(topology);
    const Certified certified = certify(topology, bounds, Collective::AllReduce);
    const CertificateReport report = check_certificate(certified.certificate, topology);
    ASSERT_TRUE(report.ok()) << report.violations.front().message;
    EXPECT_TRUE(certified.exact);
    const Rational two_phases = bounds.all_reduce();
    if (!topology.has_switches()) {
      EXPECT_LE(report.bound, Exact(two_phases.numerator(), two_phases.denominator()));
    }
    if (has_strength(topology)) {
      EXPECT_EQ(report.bound, topology.num_ranks() / strength(topology).value);
    }
    // Every rank's data must get to every other rank, all in one buffer.
    for (std::uint32_t set = 1; set < (1U << topology.num_nodes()); ++set) {
      const std::uint32_t inside = ranks_in(topology, set);
      if (inside == 0 || inside == topology.num_ranks()) continue;
      ASSERT_GE(report.bound, topology.num_ranks() / leaving(topology, set));
    }
  }
}

struct KnownOptimum {
  const char* spec;
  Exact all_gather, all_reduce;  ///< shard times
};
void PrintTo(const KnownOptimum& known, std::ostream* out) { *out << known.spec; }

class KnownOptima : public testing::TestWithParam<KnownOptimum> {};

TEST_P(KnownOptima, AreProved) {
  const Topology topology = make_topology(GetParam().spec);
  const Bounds bounds = compute_bounds(topology);
  for (const auto& [collective, bound] :
       {std::pair(Collective::AllGather, GetParam().all_gather),
        std::pair(Collective::ReduceScatter, GetParam().all_gather),
        std::pair(Collective::AllReduce, GetParam().all_reduce)}) {
    const Certified certified = certify(topology, bounds, collective);
    EXPECT_EQ(certified.certificate.bound, bound) << to_string(collective);
    EXPECT_TRUE(certified.exact);
    const CertificateReport report = check_certificate(certified.certificate, topology);
    EXPECT_TRUE(report.ok()) << report.violations.front().message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Grids, KnownOptima,
    testing::Values(
        KnownOptimum{"torus:4x4", {15, 4}, {15, 2}}, KnownOptimum{"torus:8x8", {63, 4}, {63, 2}},
        KnownOptimum{"torus:16x16", {255, 4}, {255, 2}},
        KnownOptimum{"torus:32x32", {1023, 4}, {1023, 2}}, KnownOptimum{"torus:4x4x4", {21, 2}, 21},
        KnownOptimum{"torus:8x8x8", {511, 6}, {511, 3}}, KnownOptimum{"hypercube:6", {21, 2}, 21},
        KnownOptimum{"hypercube:8", {255, 8}, {255, 4}},
        KnownOptimum{"hypercube:10", {1023, 10}, {1023, 5}}, KnownOptimum{"ring:16", {15, 2}, 15},
        KnownOptimum{"mesh:4x4", {15, 2}, 10}, KnownOptimum{"mesh:8x8", {63, 2}, 36},
        KnownOptimum{"mesh:16x16", {255, 2}, 136}, KnownOptimum{"mesh:32x32", {1023, 2}, 528},
        KnownOptimum{"mesh:3x3", 4, 6}, KnownOptimum{"mesh:2x4", {7, 2}, {28, 5}},
        KnownOptimum{"mesh:3x5", 7, {105, 11}}, KnownOptimum{"mesh:5x5", 12, 15}));

INSTANTIATE_TEST_SUITE_P(
    DeadLinks, KnownOptima,
    testing::Values(KnownOptimum{"torus:4x4?without=0-1", 5, {240, 31}},
                    KnownOptimum{"torus:4x4?without=0-1,0-4", {15, 2}, 8},
                    KnownOptimum{"torus:8x8?without=0-1", 21, {4032, 127}},
                    KnownOptimum{"torus:8x8?without=0-1,18-19,36-37,54-55", 21, {4032, 124}},
                    KnownOptimum{"torus:8x8?without=0-1,3-4,16-17,19-20,32-33,35-36,48-49,51-52",
                                 21,
                                 {4032, 120}}));

INSTANTIATE_TEST_SUITE_P(
    Switches, KnownOptima,
    testing::Values(KnownOptimum{"star:2", 1, 2}, KnownOptimum{"star:9", 8, 16},
                    KnownOptimum{"fattree:4x4", 15, 30}, KnownOptimum{"fattree:8x8", 63, 126},
                    KnownOptimum{"fattree:8x8x4", 63, 126}, KnownOptimum{"fattree:16x16", 255, 510},
                    KnownOptimum{"bigraph:4x8", 31, 62}, KnownOptimum{"bigraph:4x16", 63, 126},
                    KnownOptimum{"bigraph:8x8", 63, 126}, KnownOptimum{"dgx-a100:1", 7, 14},
                    KnownOptimum{"dgx-a100:2", {15, 13}, {30, 13}},
                    KnownOptimum{"dgx-a100:4", 3, 6}, KnownOptimum{"dgx-a100:8", 7, 14},
                    KnownOptimum{"dgx-a100:16", 15, 30}, KnownOptimum{"dgx-a100:32", 31, 62},
                    KnownOptimum{"dgx-h100:2", {3, 2}, 3}, KnownOptimum{"dgx-h100:8", 7, 14},
                    KnownOptimum{"dgx-h100:32", 31, 62}));

TEST(Certify, UnequalBoxesReduceAndSpreadAtTheSameTime) {
  for (const auto& [gpus, inside, all_gather, all_reduce] :
       {std::tuple(std::vector<std::uint32_t>{4, 2}, 4U, 2, 3),
        std::tuple(std::vector<std::uint32_t>{6, 2}, 8U, 3, 4),
        std::tuple(std::vector<std::uint32_t>{4, 4, 2}, 8U, 4, 5)}) {
    const Topology topology = test::boxes(gpus, inside);
    EXPECT_EQ(certify(topology, Collective::AllGather).certificate.bound, all_gather);
    const Certified certified = certify(topology, Collective::AllReduce);
    EXPECT_EQ(certified.certificate.bound, all_reduce);
    EXPECT_TRUE(certified.exact);
    EXPECT_TRUE(check_certificate(certified.certificate, topology).ok());
  }
}

TEST(Certify, AStarIsProvedBySingleRanksAndHalfPrices) {
  const Certificate certificate =
      certify(make_topology("star:5"), Collective::AllReduce).certificate;
  EXPECT_EQ(certificate.cuts.size(), 5U);
  for (const WeightedCut& cut : certificate.cuts) EXPECT_EQ(cut.far.size(), 1U);
  ASSERT_EQ(certificate.prices.size(), 1U);
  EXPECT_EQ(certificate.prices[0].gather, Exact(1, 2));
  EXPECT_EQ(certificate.prices[0].reduce, Exact(-1, 2));
}

TEST(Certify, TightCutsOfBoxesAreTheBoxes) {
  const Topology topology = make_topology("dgx-a100:4");
  const auto sides = tight_far_sides(topology, compute_bounds(topology));
  ASSERT_EQ(sides.size(), 4U);
  std::vector<bool> is_far(topology.num_nodes(), false);
  for (const auto& side : sides) {
    std::uint32_t ranks = 0;
    for (const NodeId node : side) {
      ranks += topology.node(node).is_switch() ? 0 : 1;
      EXPECT_FALSE(is_far[index(node)]);
      is_far[index(node)] = true;
    }
    EXPECT_EQ(ranks, 8U);
  }
}

TEST(Certify, OneRankNeedsNothing) {
  for (const Collective collective : all_collectives()) {
    const Topology topology = make_topology("star:1");
    const Certified certified = certify(topology, collective);
    EXPECT_EQ(certified.certificate.bound, 0);
    EXPECT_TRUE(certified.certificate.cuts.empty());
    EXPECT_TRUE(certified.exact);
    EXPECT_TRUE(check_certificate(certified.certificate, topology).ok());
  }
}

TEST(Certify, SaysWhereASwitchMakesTheCutTooWeak) {
  // The switch could send twice what it gets, but it does not copy: 2 shards of the root's
  // buffer enter it, 1 for each of the others.
  TopologyBuilder builder("unbalanced");
  const NodeId root = builder.add_endpoint(), a = builder.add_endpoint(),
               b = builder.add_endpoint(), middle = builder.add_switch("middle");
  builder.add_link(root, middle, Bandwidth{1}, Time{0});
  builder.add_link(middle, a, Bandwidth{1}, Time{0});
  builder.add_link(middle, b, Bandwidth{1}, Time{0});
  builder.add_link(a, root, Bandwidth{1}, Time{0});
  builder.add_link(b, root, Bandwidth{1}, Time{0});
  const Topology topology = std::move(builder).build();
  EXPECT_FALSE(certify(topology, Collective::Broadcast).exact);
  EXPECT_FALSE(certify(topology, Collective::AllGather).exact);
}

TEST(Certify, SolvesLargeProgramsWhereAskedTo) {
  const Topology topology = make_topology("ring:66?without=0>1");
  const Bounds bounds = compute_bounds(topology);
  const Certified quick = certify(topology, bounds, Collective::AllReduce);
  EXPECT_FALSE(quick.exact);
  const Certified full = certify(topology, bounds, Collective::AllReduce, Rank{0}, 66);
  EXPECT_TRUE(full.exact);
  EXPECT_EQ(full.certificate.bound, Exact(66));
  EXPECT_LT(quick.certificate.bound, full.certificate.bound);
  EXPECT_TRUE(check_certificate(full.certificate, topology).ok());
}

TEST(Certify, RefusesARootThatDoesNotExist) {
  EXPECT_THROW((void)certify(make_topology("ring:3"), Collective::Reduce, Rank{3}), Error);
}

}  // namespace
}  // namespace multitree
