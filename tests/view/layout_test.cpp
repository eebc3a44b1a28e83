// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Places of nodes.
#include "view/layout.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "topologies/registry.hpp"

namespace multitree::view {
namespace {

TEST(Layout, NoTwoNodesOfAnyFamilyShareAPlace) {
  for (const TopologyFamily& family : topology_families()) {
    const Topology topology = make_topology(family.example);
    const std::vector<Point> points = layout(topology);
    ASSERT_EQ(points.size(), topology.num_nodes()) << family.example;
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_GT(std::hypot(points[i].x - points[j].x, points[i].y - points[j].y), 0.4)
            << family.example << ": " << j << ", " << i;
      }
    }
  }
}

TEST(Layout, AGridIsAGrid) {
  const std::vector<Point> points = layout(make_topology("mesh:3x2"));
  const std::vector<Point> expected = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}};
  EXPECT_EQ(points, expected);
}

TEST(Layout, TheThirdDimensionIsBlocksBesideEachOther) {
  const std::vector<Point> points = layout(make_topology("torus:4x4x4"));
  EXPECT_EQ(points[15], (Point{3, 3}));
  EXPECT_NEAR(points[16].x, 4.8, 1e-9);
  EXPECT_EQ(points[16].y, 0);
}

TEST(Layout, RanksAreBelowTheirSwitches) {
  const Topology topology = make_topology("fattree:4x4");
  const std::vector<Point> points = layout(topology);
  for (const Link& link : topology.links()) {
    const bool up = topology.node(link.dst).is_switch() && !topology.node(link.src).is_switch();
    if (!up) continue;
    EXPECT_LT(points[index(link.dst)].y, points[index(link.src)].y);
  }
}

TEST(Layout, OneRankAndOneSwitchInTheMiddle) {
  EXPECT_EQ(layout(make_topology("ring:1")).size(), 1U);
  const Topology star = make_topology("star:8");
  const std::vector<Point> points = layout(star);
  for (std::uint32_t r = 0; r < 8; ++r) {
    const Point place = points[index(star.node_of(Rank{r}))];
    EXPECT_NEAR(std::hypot(place.x, place.y), std::hypot(points[0].x, points[0].y), 1e-9);
  }
}

}  // namespace
}  // namespace multitree::view
