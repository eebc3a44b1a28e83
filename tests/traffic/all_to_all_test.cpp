// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-to-alls: exact where ranks are alike, near their proofs elsewhere, and what schedules move.
#include "algorithms/traffic/all_to_all.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/traffic/orbit_flow.hpp"
#include "algorithms/verify.hpp"
#include "tests/certificate/networks.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

struct Known {
  const char* spec;
  Exact shards;
};

/// Of tori: the mean distance along the longest dimension over its two directions.
const Known kKnown[] = {
    {"ring:2", Exact(1, 2)},      {"ring:7", Exact(6, 7)},        {"ring:8", 1},
    {"torus:4x4", Exact(1, 2)},   {"torus:5x5", Exact(3, 5)},     {"torus:8x4", 1},
    {"torus:4x4x4", Exact(1, 2)}, {"hypercube:4", Exact(1, 2)},   {"full:8", Exact(1, 8)},
    {"torus:8x8x8", 1},           {"star-graph:4", Exact(31, 36)}};

TEST(AllToAll, IsExactWhereRanksAreAlike) {
  for (const auto& [spec, shards] : kKnown) {
    const Topology topology = make_topology(spec);
    const auto orbit = find_orbit_flow(topology);
    ASSERT_TRUE(orbit) << spec;
    Certificate certificate;
    certificate.collective = Collective::AllToAll;
    certificate.ranks = topology.num_ranks();
    certificate.links = orbit->prices();
    EXPECT_EQ(orbit->load(), shards) << spec << " " << orbit->load().str();
    EXPECT_EQ(evaluate(certificate, topology), shards) << spec;
  }
}

/// Everything that holds of any routed demand. \returns load over bound.
double expect_sound(const Topology& topology, const Demand& demand) {
  const RoutedDemand routed = route_demand(topology, demand);
  const Schedule schedule = all_to_all_schedule(routed, demand, topology);
  EXPECT_TRUE(verify(schedule, topology, {.replay_always = true}).ok()) << topology.name();
  const CertificateReport report = check_certificate(routed.certificate, topology, &schedule);
  EXPECT_TRUE(report.ok()) << topology.name() << ": " << report.violations.front().message;
  EXPECT_EQ(report.bound, routed.certificate.bound);
  EXPECT_EQ(*report.load, routed.load) << topology.name();
  EXPECT_GE(routed.load, report.bound) << topology.name();
  EXPECT_GT(report.bound, 0) << topology.name();
  return Exact(routed.load / report.bound).convert_to<double>();
}

TEST(AllToAll, OfFamiliesIsNearItsProof) {
  for (const char* spec : {"torus:4x4", "circulant:16?offsets=1,5", "hypercube:4", "mesh:4x4",
                           "mesh:3x5", "torus:4x4?without=0-1", "fattree:4x4", "dgx-a100:2",
                           "star:8", "star:8?slow=3:0.25", "dragonfly:2x2x1", "bigraph:2x4"}) {
    const Topology topology = make_topology(spec);
    EXPECT_LE(expect_sound(topology, Demand::uniform(topology.num_ranks())), 1.02) << spec;
  }
}

std::vector<std::uint64_t> skewed(std::mt19937_64& random, std::uint32_t ranks) {
  std::vector<std::uint64_t> entries(std::size_t{ranks} * ranks, 0);
  for (std::uint64_t& entry : entries) {
    if (random() % 3 != 0) entry = std::uint64_t{1} << (random() % 24);
  }
  entries[1] = 1;  // something moves
  return entries;
}

TEST(AllToAll, OfRandomNetworksAndMatricesIsNearItsProof) {
  std::mt19937_64 random(18);
  for (int round = 0; round < 24; ++round) {
    const auto ranks = static_cast<std::uint32_t>(2 + random() % 9);
    const Topology topology =
        round % 2 == 0
            ? test::random_direct(random, ranks, ranks, 4)
            : test::random_switched(random, ranks, static_cast<std::uint32_t>(random() % 4), 4);
    EXPECT_LE(expect_sound(topology, Demand::uniform(ranks)), 1.02) << round;
    EXPECT_LE(expect_sound(topology, Demand(ranks, skewed(random, ranks))), 1.02) << round;
  }
}

TEST(AllToAll, BetweenBoxesMeetsThePorts) {
  std::mt19937_64 random(64);
  for (const auto& gpus : std::vector<std::vector<std::uint32_t>>{{4, 4}, {8, 8, 8}, {2, 5, 3}}) {
    const Topology topology = test::boxes(gpus, 12);
    for (int round = 0; round < 5; ++round) {
      const Demand demand(topology.num_ranks(), skewed(random, topology.num_ranks()));
      EXPECT_LE(expect_sound(topology, demand), 1.01) << topology.num_ranks();
    }
  }
}

TEST(AllToAll, BetweenBoxesIsRoutedWhereTheInsideDecides) {
  const Topology topology = test::boxes({4, 4}, 1);
  std::vector<std::uint64_t> entries(64, 1);
  entries[1] = 1000;  // from rank 0 to its neighbour, over both of its links
  EXPECT_LE(expect_sound(topology, Demand(8, entries)), 1.01);
}

TEST(AllToAll, IsTheSameEachTime) {
  const Topology topology = make_topology("mesh:3x4");
  const Demand demand = Demand::uniform(12);
  EXPECT_EQ(all_to_all_schedule(route_demand(topology, demand), demand, topology),
            all_to_all_schedule(route_demand(topology, demand), demand, topology));
}

TEST(AllToAll, TakesNoLessTimeThanItsProof) {
  for (const char* spec : {"torus:4x4", "mesh:4x4", "fattree:4x4", "dgx-a100:2"}) {
    const Topology topology = make_topology(spec);
    const Demand demand = Demand::uniform(topology.num_ranks());
    const RoutedDemand routed = route_demand(topology, demand);
    const Schedule schedule = all_to_all_schedule(routed, demand, topology);
    const std::uint64_t bytes = std::uint64_t{topology.num_ranks()} << 26;
    const double shard = static_cast<double>(bytes) / topology.num_ranks() /
                         static_cast<double>(topology.unit_bandwidth().bytes_per_second);
    const double least = routed.certificate.bound.convert_to<double>() * shard;
    const double predicted =
        static_cast<double>(predict_time(schedule, topology, bytes).picoseconds) / 1e12;
    EXPECT_GE(predicted, least * 0.999999) << spec;
    EXPECT_LE(predicted, least * 1.5) << spec;
  }
}

TEST(AllToAll, AlgorithmsAlongTreesSayThatTheyHaveNone) {
  const Topology topology = make_topology("torus:4x4");
  try {
    make_schedule("ring", topology, Collective::AllToAll);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  }
}

}  // namespace
}  // namespace multitree
