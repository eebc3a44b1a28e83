// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every algorithm on every family and on degenerate networks: each schedule must verify, respect
/// the lower bounds and be the same twice.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// Time of a schedule in shard times: its steps, each of the length of the largest chunk.
double shard_times(const Schedule& schedule) {
  constexpr std::uint64_t kShard = std::uint64_t{1} << 40;
  std::uint64_t largest = 0;
  for (const ElementRange& range : chunk_ranges(schedule, kShard * schedule.ranks)) {
    largest = std::max(largest, range.count);
  }
  return schedule.num_steps() * static_cast<double>(largest) / static_cast<double>(kShard);
}

/// These may hand out another's schedule, under its name, and reduce and copy at the same time,
/// which may take less than one after the other.
bool chooses(std::string_view spec) { return spec == "allreduce-optimal" || spec == "auto"; }

void check(std::string_view spec, const Topology& topology, const Bounds& bounds,
           Collective collective, Rank root) {
  SCOPED_TRACE(fmt::format("{} {} on {}, root {}", spec, to_string(collective), topology.name(),
                           index(root)));
  const Schedule schedule = generate_schedule(spec, topology, collective, root);
  const VerifyReport report = verify(schedule, topology);
  ASSERT_TRUE(report.ok()) << report.violations.front().message;
  if (!chooses(spec)) {
    EXPECT_EQ(schedule.algorithm, spec);
  }
  EXPECT_EQ(schedule.collective, collective);
  EXPECT_EQ(schedule.root, has_root(collective) ? root : Rank{0});
  if (collective != Collective::AllReduce || !chooses(spec)) {
    EXPECT_GE(shard_times(schedule) * (1 + 1e-9),
              boost::rational_cast<double>(collective_bound(bounds, topology, collective, root)));
  }
  EXPECT_EQ(schedule, generate_schedule(spec, topology, collective, root));
}

void check_everything(const Topology& topology) {
  const Bounds bounds = compute_bounds(topology);
  const Rank last{topology.num_ranks() - 1};
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.unsupported(topology)) continue;
    for (const Collective collective : all_collectives()) {
      check(algorithm.name, topology, bounds, collective, Rank{0});
      if (has_root(collective) && last != Rank{0}) {
        check(algorithm.name, topology, bounds, collective, last);
      }
    }
  }
}

std::vector<std::string> all_specs() {
  std::vector<std::string> specs = {"ring:1",
                                    "ring:2",
                                    "ring:3",
                                    "torus:1x1",
                                    "torus:2x2",
                                    "torus:1x5",
                                    "torus:3x3x3",
                                    "mesh:2x7",
                                    "torus:2x16",
                                    "torus:3x1x4",
                                    "hypercube:0",
                                    "hypercube:1",
                                    "full:1",
                                    "full:7",
                                    "star:1",
                                    "star:5",
                                    "bigraph:3x8",
                                    "bigraph:2x2",
                                    "fattree:3x5",
                                    "mesh:3x5x3",
                                    "torus:4x4?bw=50GB/s,25GB/s",
                                    "torus:4x4?without=0-1",
                                    "torus:4x4?without=0>1",
                                    "mesh:4x4?without=0-1,5-6",
                                    "torus:8x8",
                                    "bigraph:4x16",
                                    "torus:3x5x7",
                                    "fattree:8x8"};
  for (const TopologyFamily& family : topology_families()) specs.emplace_back(family.example);
  return specs;
}

class EveryAlgorithm : public testing::TestWithParam<std::string> {};

TEST_P(EveryAlgorithm, MakesProvenSchedules) { check_everything(make_topology(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Networks, EveryAlgorithm, testing::ValuesIn(all_specs()));

constexpr Bandwidth kSlow{10'000'000'000}, kFast{35'000'000'000};

/// A directed ring, some chords and a detour through a switch: no link has a mate.
Topology one_way_network(std::uint32_t ranks) {
  TopologyBuilder builder("one-way");
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  const NodeId middle = builder.add_switch("middle");
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_link(NodeId{rank}, NodeId{(rank + 1) % ranks}, rank % 3 == 0 ? kFast : kSlow, {});
    if (rank % 2 == 0) builder.add_link(NodeId{rank}, NodeId{(rank + 3) % ranks}, kSlow, {});
    if (rank == 1) builder.add_link(NodeId{rank}, middle, kFast, {});
    if (rank + 1 == ranks) builder.add_link(middle, NodeId{rank}, kFast, {});
  }
  return std::move(builder).build();
}

TEST(Options, OfVariantsAreDocumented) {
  for (const Algorithm& algorithm : algorithms()) {
    std::string_view left = algorithm.variants;
    while (!left.empty()) {
      const std::string key(left.substr(0, left.find('=') + 1));
      const std::string documented = std::string(algorithm.parameters).append(kParametersOfAll);
      EXPECT_THAT(documented, testing::HasSubstr(key)) << algorithm.name;
      left.remove_prefix(std::min(left.size(), left.find_first_of("|&")));
      left.remove_prefix(left.empty() ? 0 : 1);
    }
  }
}

TEST(OneWayNetworks, AreServedByEveryAlgorithm) {
  for (const std::uint32_t ranks : {4U, 7U, 10U}) {
    const Topology topology = one_way_network(ranks);
    ASSERT_FALSE(topology.is_symmetric());
    check_everything(topology);
  }
}

TEST(ParallelLinks, AreUsed) {
  TopologyBuilder builder("double");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint();
  for (int i = 0; i < 3; ++i) builder.add_duplex(a, b, kSlow, {});
  const Topology topology = std::move(builder).build();
  check_everything(topology);
  const Schedule schedule =
      make_schedule("double-binary-tree?segments=3", topology, Collective::Broadcast);
  EXPECT_EQ(schedule.num_steps(), 2U);  // 6 chunks over 3 links
}

/// Ranks and nodes of a file come in any order.
TEST(RelabelledRanks, AreServedByEveryAlgorithm) {
  TopologyBuilder builder("relabelled");
  const NodeId hub = builder.add_switch("hub");
  std::vector<NodeId> nodes;
  for (const std::uint32_t rank : {3U, 0U, 4U, 1U, 2U}) {
    nodes.push_back(builder.add_endpoint({}, Rank{rank}));
    builder.add_duplex(hub, nodes.back(), kSlow, {});
  }
  builder.add_duplex(nodes[0], nodes[3], kFast, {});
  builder.add_duplex(nodes[4], nodes[1], kFast, {});
  check_everything(std::move(builder).build());
}

}  // namespace
}  // namespace multitree
