// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Drawings, scenes and the picture of both.
#include "view/picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "view/drawing.hpp"

namespace multitree::view {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

Point middle(const Curve& curve) {
  return {(curve.from.x + 2 * curve.control.x + curve.to.x) / 4,
          (curve.from.y + 2 * curve.control.y + curve.to.y) / 4};
}

TEST(Drawing, TheLinksOfATorusLieApartAndPassOverNoNode) {
  const Topology topology = make_topology("torus:4x4");
  const Drawing drawing = drawing_of(topology);
  ASSERT_EQ(drawing.links.size(), topology.num_links());
  std::set<std::pair<int, int>> middles;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Point at = middle(drawing.links[l]);
    EXPECT_TRUE(middles.emplace(std::lround(at.x * 1000), std::lround(at.y * 1000)).second) << l;
    for (const Point& node : drawing.nodes) {
      EXPECT_GT(std::hypot(node.x - at.x, node.y - at.y), 0.2) << l;
    }
  }
}

TEST(Labels, AreNamesThatSayMoreThanNumbers) {
  EXPECT_TRUE(labels_of(make_topology("torus:4x4")).empty());
  EXPECT_TRUE(labels_of(make_topology("fattree:2x2")).empty());
  EXPECT_EQ(words_of(make_topology("torus:4x4"), Rank{5}), "rank 5");
  EXPECT_THAT(labels_of(make_topology("dgx-a100:1")), testing::Contains("box0gpu3"));
  // What is left of a network is numbered anew.
  EXPECT_THAT(labels_of(make_topology("ring:4?dead=1")), testing::ElementsAre("n0", "n2", "n3"));

  TopologyBuilder builder("desks");
  const NodeId a = builder.add_endpoint("desk1"),
               b = builder.add_endpoint("n\u00f6rdlich-von-allen-4");
  const NodeId hub = builder.add_switch("sw");
  for (const NodeId desk : {a, b}) {
    builder.add_duplex(desk, hub, Bandwidth{1'000'000'000}, Time{1'000'000});
  }
  const Topology desks = std::move(builder).build();
  EXPECT_THAT(labels_of(desks), testing::ElementsAre("desk1", "n\u00f6rdli\u2026allen-4", "sw"));
  EXPECT_EQ(words_of(desks, Rank{0}), "rank 0 (desk1)");
  const std::string picture = write_picture(desks, Scene{}, "desks");
  EXPECT_EQ(count_of(picture, ">desk1</text>"), 1U);
  EXPECT_EQ(count_of(picture, ">sw</text>"), 1U);
}

TEST(Drawing, EverythingOfEveryFamilyIsInside) {
  for (const TopologyFamily& family : topology_families()) {
    const Drawing drawing = drawing_of(make_topology(family.example));
    const auto inside = [&](const Point& at) {
      return at.x >= drawing.corner.x && at.x <= drawing.corner.x + drawing.size.x &&
             at.y >= drawing.corner.y && at.y <= drawing.corner.y + drawing.size.y;
    };
    for (const Point& node : drawing.nodes) EXPECT_TRUE(inside(node)) << family.example;
    for (const Curve& curve : drawing.links) EXPECT_TRUE(inside(middle(curve))) << family.example;
  }
}

TEST(Scene, LoadIsOfTheBusiest) {
  const Topology topology = make_topology("mesh:2x2");
  const Schedule schedule = make_schedule("allreduce-optimal", topology);
  const Scene scene = load_scene(schedule, topology, 1 << 20);
  EXPECT_EQ(scene.links.size(), topology.num_links());
  // All links of this one are equally busy.
  for (const auto& [link, look] : scene.links) EXPECT_EQ(look.colour, "#081d58");
  EXPECT_THAT(scene.told, HasSubstr("8 of 8 links carry data"));
}

TEST(Scene, AStepAndATreeHaveTheirMessages) {
  const Topology topology = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", topology);
  const Scene step = step_scene(schedule, topology, 0);
  EXPECT_EQ(step.links.size(), 4U);
  EXPECT_THAT(step.told, HasSubstr("step 1 of 6: 4 messages over 4 of 8 links"));
  const Scene tree = tree_scene(schedule, topology, 0);
  std::set<std::uint32_t> numbers;
  for (const auto& [link, look] : tree.links) numbers.insert(look.number);
  EXPECT_EQ(tree.nodes.size(), 1U);
  EXPECT_EQ(*numbers.rbegin(), 6U);
}

TEST(Scene, WhatIsNotThereIsRefused) {
  const Topology topology = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", topology);
  const auto words = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(words([&] { step_scene(schedule, topology, 6); }),
              HasSubstr("expected a step from 0 to 5, got 6"));
  EXPECT_THAT(words([&] { tree_scene(schedule, topology, 99); }),
              HasSubstr("expected a tree from 0 to"));
  const Certified certified = certify(topology, Collective::AllReduce);
  EXPECT_THAT(words([&] { cut_scene(certified, topology, 99); }),
              HasSubstr("expected a cut from 0 to"));
}

TEST(Picture, HasEveryNodeLinkAndWord) {
  const Topology topology = make_topology("fattree:4x2");
  const std::string picture = write_picture(topology, scene_of(topology), "a < b & \"c\"");
  EXPECT_EQ(count_of(picture, "<circle "), topology.num_ranks());
  EXPECT_EQ(count_of(picture, "<path "), topology.num_links());
  EXPECT_THAT(picture, HasSubstr("a &lt; b &amp; &quot;c&quot;"));
  EXPECT_THAT(picture, HasSubstr("8 ranks, "));
  EXPECT_EQ(picture, write_picture(topology, scene_of(topology), "a < b & \"c\""));
}

TEST(Picture, CutsAreTwoSides) {
  const Topology topology = make_topology("mesh:2x3");
  const Certified certified = certify(topology, Collective::AllReduce);
  const Scene scene = cut_scene(certified, topology, 0);
  const std::size_t far = certified.certificate.cuts[0].far.size();
  EXPECT_EQ(scene.nodes.size(), far);
  const std::string picture = write_picture(topology, scene, "cut");
  EXPECT_EQ(count_of(picture, "r=\"14.3\" fill=\"#f0c27b\""), far);
  EXPECT_THAT(picture, HasSubstr("that no schedule takes less than"));
}

TEST(Picture, LargeNetworksHaveNoLettersThatNobodyReads) {
  const Topology topology = make_topology("torus:64x64");
  const std::string picture = write_picture(topology, scene_of(topology), "large");
  EXPECT_THAT(picture, Not(HasSubstr(">4095</text>")));
  EXPECT_LT(picture.size(), std::size_t{20} << 20);
}

}  // namespace
}  // namespace multitree::view
