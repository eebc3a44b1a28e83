// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Process groups: lists of ranks, and what is left of a network for the members of one.
#include "topologies/group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/degrade.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> list) {
  std::vector<Rank> result;
  for (const std::uint32_t rank : list) result.push_back(Rank{rank});
  return result;
}

std::set<std::string> names(const Topology& topology) {
  std::set<std::string> result;
  for (const Node& node : topology.nodes()) result.insert(node.name);
  return result;
}

TEST(RankList, ReadsRangesStepsAndOrders) {
  EXPECT_EQ(parse_ranks("3", 4), ranks({3}));
  EXPECT_EQ(parse_ranks("0-2,7", 8), ranks({0, 1, 2, 7}));
  EXPECT_EQ(parse_ranks("0-7:3", 8), ranks({0, 3, 6}));
  EXPECT_EQ(parse_ranks("5-2", 8), ranks({5, 4, 3, 2}));
  EXPECT_EQ(parse_ranks("7-0:4,1", 8), ranks({7, 3, 1}));
}

TEST(RankList, WritesWhatItReads) {
  EXPECT_EQ(ranks_text(ranks({0, 1, 2, 3, 8})), "0-3,8");
  EXPECT_EQ(ranks_text(ranks({0, 2, 4})), "0-4:2");
  EXPECT_EQ(ranks_text(ranks({9, 4})), "9,4");
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<Rank> list;
    for (std::uint32_t r = 0; r < 24; ++r) {
      if (random() % 2 == 0) list.push_back(Rank{i % 2 == 0 ? r : 23 - r});
    }
    if (list.empty()) continue;
    EXPECT_EQ(parse_ranks(ranks_text(list), 24), list) << ranks_text(list);
  }
}

TEST(RankList, SaysWhatIsWrong) {
  const auto error = [](std::string_view text) {
    return error_of(ErrorCode::InvalidArgument, [&] { parse_ranks(text, 16); });
  };
  EXPECT_THAT(error(""), HasSubstr("0-15,32 or 0-30:2, got ''"));
  EXPECT_THAT(error("1,"), HasSubstr("got ''"));
  EXPECT_THAT(error("a"), HasSubstr("got 'a'"));
  EXPECT_THAT(error("1:2"), HasSubstr("got '1:2'"));
  EXPECT_THAT(error("1-5:0"), HasSubstr("got '1-5:0'"));
  EXPECT_THAT(error("1-16"), HasSubstr("below 16, got 16"));
  EXPECT_THAT(error("4,2-5"), HasSubstr("got 4 twice"));
  EXPECT_THAT(error("0-15,0-15"), HasSubstr("got 0 twice"));
}

TEST(RankList, ReadsNamesOfNodes) {
  const Topology tree = make_topology("fattree:2x2");
  const std::string third = tree.node(tree.node_of(Rank{2})).name;
  EXPECT_EQ(parse_ranks(third + ",0-1", tree), ranks({2, 0, 1}));
  EXPECT_EQ(change_network(tree, {.ranks = third + ",0"}, "pair").num_ranks(), 2U);
  const auto error = [&](std::string_view text) {
    return error_of(ErrorCode::InvalidArgument, [&] { parse_ranks(text, tree); });
  };
  EXPECT_THAT(error("leaf0"), HasSubstr("'leaf0' is a switch"));
  EXPECT_THAT(error("leaf9"), HasSubstr("names of nodes, got 'leaf9'"));
  EXPECT_THAT(error("2," + third), HasSubstr("got 2 twice"));
}

TEST(Group, OthersForwardAndKeepTheirNames) {
  const Topology torus = make_topology("torus:4x4");
  const Topology group = restrict_to(torus, ranks({5, 0, 10}));
  EXPECT_EQ(group.name(), "torus:4x4?ranks=5,0,10");
  EXPECT_EQ(group.num_ranks(), 3U);
  EXPECT_EQ(group.num_nodes(), 16U);
  EXPECT_EQ(group.num_links(), 64U);
  EXPECT_EQ(group.node(group.node_of(Rank{0})).name, "n5");
  EXPECT_EQ(group.node(group.node_of(Rank{1})).name, "n0");
  EXPECT_EQ(group.node(group.node_of(Rank{2})).name, "n10");
  EXPECT_TRUE(group.shape().family.empty());
}

TEST(Group, DropsWhatLiesOnNoPathBetweenMembers) {
  EXPECT_EQ(names(make_topology("star:5?ranks=1,3")), (std::set<std::string>{"n1", "n3", "sw0"}));
  EXPECT_EQ(names(make_topology("star:5?ranks=1")), (std::set<std::string>{"n1"}));
  EXPECT_EQ(names(make_topology("mesh:6?ranks=1,3")), (std::set<std::string>{"n1", "n2", "n3"}));
  // A whole cycle hangs from ib0: the second box. The first one keeps both of its networks.
  const Topology box = make_topology("dgx-a100:2?ranks=0-7");
  EXPECT_EQ(box.num_nodes(), 10U);
  EXPECT_TRUE(names(box).contains("ib0"));
  EXPECT_FALSE(names(box).contains("nvswitch1"));
}

/// Nodes on a simple path between two members, by trying all paths.
class PathOracle {
 public:
  PathOracle(const Topology& topology, const std::set<std::string>& members)
      : topology_(topology), members_(members), on_path_(topology.num_nodes(), false) {
    for (std::uint32_t v = 0; v < topology.num_nodes(); ++v) {
      if (!members.contains(topology.node(NodeId{v}).name)) continue;
      found.insert(topology.node(NodeId{v}).name);
      walk(NodeId{v}, {});
    }
  }
  std::set<std::string> found;

 private:
  void walk(NodeId node, std::vector<std::string> path) {
    const std::string& name = topology_.node(node).name;
    path.push_back(name);
    if (path.size() > 1 && members_.contains(name)) found.insert(path.begin(), path.end());
    on_path_[index(node)] = true;
    for (const LinkId link : topology_.out_links(node)) {
      const NodeId next = topology_.link(link).dst;
      if (!on_path_[index(next)]) walk(next, path);
    }
    on_path_[index(node)] = false;
  }

  const Topology& topology_;
  const std::set<std::string>& members_;
  std::vector<bool> on_path_;
};

TEST(Group, KeepsExactlyWhatAPathNeeds) {
  std::mt19937 random(7);
  for (const std::string_view spec : {"mesh:2x4", "star:5", "fattree:3x2x2", "bigraph:2x4",
                                      "torus:3x3", "dragonfly:2x1x1", "dgx-a100:1", "mesh:7"}) {
    const Topology whole = make_topology(spec);
    for (int i = 0; i < 8; ++i) {
      std::vector<Rank> members;
      std::set<std::string> member_names;
      for (std::uint32_t r = 0; r < whole.num_ranks(); ++r) {
        if (random() % 3 == 0) continue;
        members.push_back(Rank{r});
        member_names.insert(whole.node(whole.node_of(Rank{r})).name);
      }
      if (members.empty() || members.size() == whole.num_ranks()) continue;
      EXPECT_EQ(names(restrict_to(whole, members)), PathOracle(whole, member_names).found)
          << spec << " " << ranks_text(members);
    }
  }
}

TEST(Group, OfAllRanksIsTheNetwork) {
  for (const TopologyFamily& family : topology_families()) {
    const Topology whole = make_topology(family.example);
    const std::string all = fmt::format("0-{}", whole.num_ranks() - 1);
    const Topology group = restrict_to(whole, parse_ranks(all, whole.num_ranks()));
    EXPECT_TRUE(std::ranges::equal(group.nodes(), whole.nodes()));
    EXPECT_TRUE(std::ranges::equal(group.links(), whole.links()));
    EXPECT_EQ(group.shape(), whole.shape());
  }
}

TEST(Group, KnowsItsLayoutOnlyWhereItHasOne) {
  const auto shape = [](std::string_view spec) {
    const Shape found = make_topology(spec).shape();
    return fmt::format("{} {}", found.family, fmt::join(found.dims, "x"));
  };
  EXPECT_EQ(shape("torus:4x4?ranks=0-3"), " ");  // the others still forward
  EXPECT_EQ(shape("torus:4x4?dead=4-15"), "torus 4x1");
  EXPECT_EQ(shape("torus:4x4?dead=8-15"), "torus 4x2");
  EXPECT_EQ(shape("torus:4x4?dead=2,3,6-15"), "mesh 2x2");
  EXPECT_EQ(shape("torus:4x4?dead=12-15"), " ");  // wraps around in one dimension only
  EXPECT_EQ(shape("torus:4x4?dead=15"), " ");
  EXPECT_EQ(shape("torus:4x4?dead=3,7,11,12-15"), "mesh 3x3");
  EXPECT_EQ(shape("mesh:3x3?dead=0,3,6"), "mesh 2x3");
  EXPECT_EQ(shape("mesh:6?ranks=1-3"), "mesh 3");
  EXPECT_EQ(shape("mesh:6?ranks=3-1"), " ");  // turned around
  EXPECT_EQ(shape("ring:6?dead=0"), "mesh 5");
  EXPECT_EQ(shape("hypercube:3?dead=4-7"), " ");
  EXPECT_EQ(shape("torus:4x4?without=0-1"), "torus 4x4");
}

}  // namespace
}  // namespace multitree
