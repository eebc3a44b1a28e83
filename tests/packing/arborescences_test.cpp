// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Packings of out-trees meet the all-gather bound exactly, whatever the network.
#include "algorithms/packing/arborescences.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
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
                                         RandomCase{"large_direct", 5, 20, 40, 0, 3},
                                         RandomCase{"large_switched", 6, 20, 28, 12, 3}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace multitree
