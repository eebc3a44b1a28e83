// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// forest on every family: proven schedules whose packings reach the bounds; k trees a root.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/packing/gather_packing.hpp"
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

}  // namespace
}  // namespace multitree
