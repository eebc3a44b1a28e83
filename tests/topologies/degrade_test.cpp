// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dead, slow and parallel links and dead nodes, as options of every family.
#include "topologies/degrade.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/io/io.hpp"
#include "topologies/notes.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

/// Bandwidth of the links from one node to another, in list order.
std::vector<std::string> bandwidths(const Topology& topology, std::string_view src,
                                    std::string_view dst) {
  std::vector<std::string> found;
  for (const Link& link : topology.links()) {
    if (topology.node(link.src).name == src && topology.node(link.dst).name == dst) {
      found.push_back(to_string(link.bandwidth));
    }
  }
  return found;
}

using Speeds = std::vector<std::string>;

TEST(Changes, NoneIsTheSameNetwork) {
  const Topology ring = make_topology("ring:4");
  EXPECT_EQ(change_network(ring, {}), ring);
}

TEST(Changes, DeadRanksAreRenumberedAndKeepTheirNames) {
  const Topology less = make_topology("torus:4x4?dead=5,0");
  EXPECT_EQ(less.num_ranks(), 14U);
  EXPECT_EQ(less.num_links(), 64U - 16U);
  EXPECT_EQ(less.node(less.node_of(Rank{0})).name, "n1");
  EXPECT_EQ(less.node(less.node_of(Rank{4})).name, "n6");
  EXPECT_EQ(less.node(less.node_of(Rank{13})).name, "n15");
  EXPECT_EQ(less.name(), "torus:4x4?dead=5,0");
}

/// Three ranks at a switch; their names are numbers, as in many files, and those of other ranks.
Topology numbered() {
  TopologyBuilder builder("numbered");
  const NodeId hub = builder.add_switch("0");
  for (const char* name : {"1", "2", "3"}) {
    builder.add_duplex(builder.add_endpoint(name), hub, Bandwidth{1'000}, Time{0});
  }
  return std::move(builder).build();
}

/// Names of the nodes that are left, and what was noted.
std::pair<std::string, std::vector<std::string>> left(const NetworkChanges& changes) {
  const Notes notes;
  std::string names;
  const Topology less = change_network(numbered(), changes);
  for (const Node& node : less.nodes()) names += node.name;
  return {names, notes.all()};
}

TEST(Changes, ANumberIsTheNodeOfThatNameBeforeItIsARank) {
  using Notes = std::vector<std::string>;
  EXPECT_EQ(
      left({.dead = "1"}),
      std::pair(std::string("023"),
                Notes{"dead: the node named '1' is rank 0, and rank 1 is named '2'; the node of "
                      "that name is meant"}));
  EXPECT_EQ(left({.dead = "3"}), std::pair(std::string("012"), Notes{}));  // there is no rank 3
  EXPECT_EQ(
      left({.dead = "1-2"}),
      std::pair(std::string("01"),
                Notes{"dead: the node named '1' is rank 0, and rank 1 is named '2'; the rank is "
                      "meant",
                      "dead: the node named '2' is rank 1, and rank 2 is named '3'; the rank is "
                      "meant"}));
  EXPECT_EQ(
      left({.slow = "0-3:0.5"}),
      std::pair(std::string("0123"),
                Notes{"slow: the node named '0' is a switch, and rank 0 is named '1'; the node "
                      "of that name is meant"}));
  EXPECT_EQ(
      left({.ranks = "1,2"}).second,
      (Notes{"ranks: the node named '1' is rank 0, and rank 1 is named '2'; the rank is meant",
             "ranks: the node named '2' is rank 1, and rank 2 is named '3'; the rank is "
             "meant"}));
}

TEST(Changes, DeadSwitchesAreNoRank) {
  const Topology less = make_topology("fattree:4x4?dead=spine1");
  EXPECT_EQ(less.num_ranks(), 16U);
  EXPECT_EQ(less.num_nodes(), 16U + 4U + 3U);
  EXPECT_EQ(less.num_links(), 2U * (16U + 12U));
}

TEST(Changes, SlowLinksInOneOrBothDirections) {
  const Topology slow = make_topology("ring:4?slow=0-1:0.5,2>3:4GB/s,3>2:16GB/s");
  EXPECT_EQ(bandwidths(slow, "n0", "n1"), Speeds{"8GB/s"});
  EXPECT_EQ(bandwidths(slow, "n1", "n0"), Speeds{"8GB/s"});
  EXPECT_EQ(bandwidths(slow, "n2", "n3"), Speeds{"4GB/s"});
  EXPECT_EQ(bandwidths(slow, "n3", "n2"), Speeds{"16GB/s"});
  EXPECT_EQ(bandwidths(slow, "n1", "n2"), Speeds{"16GB/s"});
}

TEST(Changes, SlowRanksSlowAllTheirLinks) {
  const Topology slow = make_topology("torus:3x3?slow=4:0.25,n0:400Mb/s");
  for (const Link& link : slow.links()) {
    const bool of_0 = link.src == NodeId{0} || link.dst == NodeId{0};
    const bool of_4 = link.src == NodeId{4} || link.dst == NodeId{4};
    EXPECT_EQ(to_string(link.bandwidth), of_0 ? "50MB/s" : of_4 ? "4GB/s" : "16GB/s");
  }
  EXPECT_EQ(to_string(make_topology("mesh:2?bw=3B/s&slow=0-1:0.1").link(LinkId{0}).bandwidth),
            "1B/s");
  EXPECT_EQ(to_string(make_topology("mesh:2?slow=0-1:1").link(LinkId{0}).bandwidth), "16GB/s");
}

TEST(Changes, ParallelLinks) {
  const Topology trunk = make_topology("ring:3?parallel=0-1:3,1>2:2");
  EXPECT_EQ(bandwidths(trunk, "n0", "n1").size(), 3U);
  EXPECT_EQ(bandwidths(trunk, "n1", "n0").size(), 3U);
  EXPECT_EQ(bandwidths(trunk, "n1", "n2").size(), 2U);
  EXPECT_EQ(bandwidths(trunk, "n2", "n1").size(), 1U);
  EXPECT_EQ(make_topology("torus:4x4?parallel=2").num_links(), 128U);
}

TEST(Changes, OneOfParallelLinksDies) {
  const Topology trunk = make_topology("ring:3?parallel=0-1:3");
  const Topology less = change_network(trunk, {.without = "0-1:1"});
  EXPECT_EQ(less.num_links(), trunk.num_links() - 2);
  EXPECT_EQ(bandwidths(less, "n0", "n1").size(), 2U);
  EXPECT_EQ(change_network(trunk, {.without = "0-1"}).num_links(), trunk.num_links() - 6);
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument, [&] { change_network(trunk, {.without = "0-1:4"}); }),
      HasSubstr("without: 0-1: expected 1 to 3 links, got 4"));
}

TEST(Changes, NamesMayHoldTheMarksThatSeparateThem) {
  TopologyBuilder builder("marks");
  const NodeId a = builder.add_endpoint("gpu-0"), b = builder.add_endpoint("0000:16:00.0");
  builder.add_duplex(a, b, {1'000'000'000}, {0});
  builder.add_duplex(a, b, {1'000'000'000}, {0});
  const Topology topology = std::move(builder).build();
  EXPECT_EQ(change_network(topology, {.without = "gpu-0-0000:16:00.0:1"}).num_links(), 2U);
  const Topology slow = change_network(topology, {.slow = "0000:16:00.0:0.5"});
  EXPECT_EQ(to_string(slow.link(LinkId{0}).bandwidth), "500MB/s");
  EXPECT_EQ(slow.name(), "marks?slow=0000:16:00.0:0.5");
}

/// "add", "copy" and how many at once, of each switch.
std::vector<std::string> abilities(const Topology& topology) {
  std::vector<std::string> all;
  for (const Node& node : topology.nodes()) {
    if (!node.is_switch()) continue;
    const auto& [adds, copies, at_once] = node.abilities;
    all.push_back(std::string(adds ? "add" : "") + (copies ? "copy" : "") +
                  (at_once > 0 ? std::to_string(at_once) : ""));
  }
  return all;
}

TEST(Changes, SwitchesMayAddAndCopy) {
  using All = std::vector<std::string>;
  EXPECT_EQ(abilities(make_topology("fattree:2x2?switches=add,copy")), All(4, "addcopy"));
  EXPECT_EQ(abilities(make_topology("fattree:2x2?switches=leaf0:add,spine1:copy,spine1:4")),
            (All{"add", "", "", "copy4"}));
  EXPECT_EQ(abilities(make_topology("dgx-h100:2?switches=copy,3&dead=nvswitch0")),
            (All{"copy3", "copy3"}));
  EXPECT_FALSE(make_topology("star:3").has_abilities());
  // Who forwards in place of a rank that takes no part does nothing else.
  EXPECT_EQ(abilities(make_topology("dgx-a100:2?switches=add&ranks=0,8")).front(), "");
  EXPECT_EQ(abilities(make_topology("star:3?switches=add,2").transposed()), All{"copy2"});
}

TEST(Changes, SwitchesAreRefusedInWords) {
  const auto refusal = [](const char* spec) {
    return error_of(ErrorCode::InvalidArgument, [&] { make_topology(spec); });
  };
  EXPECT_THAT(refusal("torus:4x4?switches=add"),
              HasSubstr("switches: expected a network that has switches"));
  EXPECT_THAT(refusal("star:4?switches=ad"), HasSubstr("expected add, copy or how many"));
  EXPECT_THAT(refusal("star:4?switches=2:add"), HasSubstr("expected a switch, '2' is a rank"));
  EXPECT_THAT(refusal("star:4?switches=sw1:add"), HasSubstr("'sw1'"));
  EXPECT_THAT(refusal("star:4?switches=0"), HasSubstr("how many messages at once"));
  EXPECT_THAT(refusal("star:4?switches=4"), HasSubstr("expected a switch that adds or copies"));
}

TEST(Changes, AreAllInTheTermsOfTheNetworkBefore) {
  const Topology once = make_topology("torus:4x4?ranks=0-2,8&dead=3&without=0-4&slow=8:0.5");
  EXPECT_EQ(once.num_ranks(), 4U);
  EXPECT_EQ(once.node(once.node_of(Rank{3})).name, "n8");
  EXPECT_EQ(bandwidths(once, "n8", "n9"), Speeds{"8GB/s"});
  EXPECT_TRUE(bandwidths(once, "n0", "n4").empty());
  EXPECT_TRUE(bandwidths(once, "n2", "n3").empty());
  EXPECT_EQ(change_network(make_topology("ring:4"), {.slow = "0:0.5", .ranks = "0,2"}).name(),
            "ring:4?slow=0:0.5&ranks=0,2");
}

TEST(Changes, OfEveryFamilyCanBeWrittenAndReadBack) {
  for (const TopologyFamily& family : topology_families()) {
    const Topology whole = make_topology(family.example);
    if (whole.num_ranks() < 4) continue;
    const Topology changed = change_network(whole, {.slow = "1:0.5", .ranks = "0-2"});
    EXPECT_EQ(changed.num_ranks(), 3U);
    EXPECT_EQ(parse_topology_json(write_topology_json(changed), "x.json"), changed);
    const std::string spec(family.example);
    const std::string more = spec.find('?') == std::string::npos ? "?" : "&";
    EXPECT_EQ(make_topology(spec + more + "slow=1:0.5&ranks=0-2"), changed);
  }
}

}  // namespace
}  // namespace multitree
