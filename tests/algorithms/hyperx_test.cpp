// SPDX-License-Identifier: BSD-3-Clause
// What a family gets by telling its structure: algorithms that have no line about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

std::uint32_t steps_of(std::string_view algorithm, const Topology& topology,
                       Collective collective) {
  const Schedule schedule = make_schedule(algorithm, topology, collective);
  EXPECT_TRUE(verify(schedule, topology).ok()) << algorithm << " on " << topology.name();
  return schedule.num_steps();
}

TEST(Hyperx, LinksRanksThatDifferInOneCoordinate) {
  const Topology topology = make_topology("hyperx:4x3x2");
  EXPECT_EQ(topology.num_ranks(), 24U);
  EXPECT_EQ(topology.num_links(), 24U * (3 + 2 + 1));
}

TEST(Hyperx, HasRingsWhoseNeighboursAreLinked) {
  for (const char* spec : {"hyperx:4x4", "hyperx:3x5", "hyperx:5", "hyperx:3x3x3", "hyperx:1x4"}) {
    const Topology topology = make_topology(spec);
    EXPECT_EQ(steps_of("ring", topology, Collective::AllGather), topology.num_ranks() - 1) << spec;
  }
}

TEST(Hyperx, IsExchangedInOneRoundADimension) {
  EXPECT_EQ(steps_of("exchange", make_topology("hyperx:4x4"), Collective::AllReduce), 2U);
  EXPECT_EQ(steps_of("exchange", make_topology("hyperx:5x3x2"), Collective::AllReduce), 3U);
  EXPECT_EQ(steps_of("exchange", make_topology("hyperx:7"), Collective::AllReduce), 1U);
}

TEST(Hyperx, LooksTheSameFromEveryRank) {
  // n-1 shards over the links of a rank, or the diameter.
  EXPECT_EQ(steps_of("symmetric", make_topology("hyperx:4x4"), Collective::AllGather), 3U);
  EXPECT_EQ(steps_of("symmetric", make_topology("hyperx:5x3"), Collective::AllGather), 3U);
  EXPECT_EQ(steps_of("symmetric", make_topology("hyperx:8"), Collective::AllGather), 1U);
}

TEST(Hyperx, IsOneAgainWhereABoxIsLeft) {
  EXPECT_EQ(make_topology("hyperx:4x4?dead=3,7,11,15").shape(), (Shape{"hyperx", {3, 4}}));
  EXPECT_EQ(make_topology("hyperx:4x4?dead=5").shape(), Shape{});
}

}  // namespace
}  // namespace multitree
