// SPDX-License-Identifier: BSD-3-Clause
// What families say of their networks is what the links of these say.
#include "topologies/structure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "topologies/io/io.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

Pairs linked(const Topology& topology) {
  Pairs pairs;
  for (const Link& link : topology.links()) pairs.emplace(index(link.src), index(link.dst));
  return pairs;
}

bool next_to_each_other(std::uint32_t a, std::uint32_t b, std::uint32_t size, Line line) {
  const std::uint32_t apart = a < b ? b - a : a - b;
  if (line == Line::Complete) return true;
  return apart == 1 || (line == Line::Ring && apart == size - 1);
}

Pairs linked(const Grid& grid, std::uint32_t ranks) {
  Pairs pairs;
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < ranks; ++b) {
      std::uint32_t differ = 0, rest_a = a, rest_b = b;
      bool near = true;
      for (const std::uint32_t size : grid.sizes) {
        const std::uint32_t at_a = rest_a % size, at_b = rest_b % size;
        if (at_a != at_b) {
          ++differ;
          near = next_to_each_other(at_a, at_b, size, grid.line);
        }
        rest_a /= size;
        rest_b /= size;
      }
      if (differ == 1 && near) pairs.emplace(a, b);
    }
  }
  return pairs;
}

TEST(Structure, OfAGridIsWhereItsLinksLead) {
  std::set<Line> seen;
  for (const TopologyFamily& family : topology_families()) {
    const Topology topology = make_topology(family.example);
    const auto grid = structure_of(topology).grid;
    if (!grid) continue;
    seen.insert(grid->line);
    EXPECT_EQ(linked(*grid, topology.num_ranks()), linked(topology)) << family.example;
  }
  EXPECT_EQ(seen, (std::set{Line::Path, Line::Ring, Line::Complete}));
}

TEST(Structure, OfAGroupMovesLinksToLinks) {
  std::uint32_t groups = 0;
  for (const TopologyFamily& family : topology_families()) {
    const Topology topology = make_topology(family.example);
    const auto group = structure_of(topology).group;
    EXPECT_EQ(group.has_value(), family.graph != nullptr) << family.name;
    if (!group) continue;
    ++groups;
    const Pairs pairs = linked(topology);
    for (const auto& [a, b] : pairs) {
      for (std::uint32_t by = 0; by < group->size(); ++by) {
        ASSERT_TRUE(pairs.contains({group->multiply(by, a), group->multiply(by, b)}))
            << family.example << " link " << a << "-" << b << " moved by " << by;
      }
    }
  }
  EXPECT_GE(groups, 10U);
}

TEST(Structure, OfFacingLayersHasNoLinkWithinALayer) {
  std::vector<std::string_view> found;
  for (const TopologyFamily& family : topology_families()) {
    const Topology topology = make_topology(family.example);
    if (!structure_of(topology).facing_layers) continue;
    found.push_back(family.name);
    const std::uint32_t first = topology.num_ranks();
    const std::uint32_t half = (topology.num_nodes() - first) / 2;
    for (const Link& link : topology.links()) {
      const std::uint32_t a = index(link.src), b = index(link.dst);
      if (a < first || b < first) continue;
      EXPECT_NE(a < first + half, b < first + half) << family.example;
    }
  }
  EXPECT_THAT(found, testing::ElementsAre("bigraph"));
}

TEST(Structure, IsThatOfTheNetworkAgainWhenReadFromAFile) {
  for (const TopologyFamily& family : topology_families()) {
    const Topology topology = make_topology(family.example);
    const Topology again = parse_topology_json(write_topology_json(topology), "again.json");
    const Structure a = structure_of(topology), b = structure_of(again);
    ASSERT_EQ(a.grid.has_value(), b.grid.has_value()) << family.name;
    ASSERT_EQ(a.group.has_value(), b.group.has_value()) << family.name;
    EXPECT_EQ(a.facing_layers, b.facing_layers) << family.name;
    if (a.grid) {
      EXPECT_EQ(a.grid->sizes, b.grid->sizes) << family.name;
    }
    if (a.group) {
      EXPECT_EQ(a.group->sizes(), b.group->sizes()) << family.name;
    }
  }
}

/// Two ranks that claim to be something else.
Structure claimed(const Shape& shape) {
  TopologyBuilder builder("two");
  builder.add_duplex(builder.add_endpoint(), builder.add_endpoint(), Bandwidth{1}, Time{0});
  builder.set_shape(shape);
  return structure_of(std::move(builder).build());
}

TEST(Structure, IsNoneWhereTheSizesDoNotFitTheRanks) {
  EXPECT_EQ(claimed({"torus", {2}}).grid->sizes, std::vector<std::uint32_t>{2});
  EXPECT_TRUE(claimed({"torus", {2}}).group);
  for (const TopologyFamily& family : topology_families()) {
    for (const std::vector<std::uint32_t>& dims : std::vector<std::vector<std::uint32_t>>{
             {}, {0}, {7}, {5, 7}, {UINT32_MAX}, {1U << 31, 2, 1}, {0, 2, 0}, {65536, 65536, 2}}) {
      const Structure structure = claimed({std::string(family.name), dims});
      EXPECT_FALSE(structure.grid) << family.name << " " << testing::PrintToString(dims);
      EXPECT_FALSE(structure.group) << family.name << " " << testing::PrintToString(dims);
    }
  }
  EXPECT_FALSE(claimed({"donut", {2}}).grid);
}

TEST(Structure, OfFewerRanksIsThatOfTheBoxWhichIsLeft) {
  const auto line = [](std::string_view spec) {
    const auto grid = structure_of(make_topology(spec)).grid;
    return grid ? std::optional(grid->line) : std::nullopt;
  };
  EXPECT_EQ(line("torus:4x4?dead=8-15"), Line::Ring);
  EXPECT_EQ(line("torus:4x4?dead=2,3,6-15"), Line::Path);
  EXPECT_EQ(line("torus:4x4?dead=15"), std::nullopt);
  EXPECT_EQ(line("torus:4x4?ranks=0-3"), std::nullopt);
  EXPECT_EQ(line("full:8?dead=7"), std::nullopt);
  EXPECT_EQ(line("torus:4x4?without=0-1"), Line::Ring);
}

}  // namespace
}  // namespace multitree
