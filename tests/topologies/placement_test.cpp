// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Maps of ranks to hosts, and hosts that fill groups of ranks.
#include "topologies/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_matcher.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;

using Hosts = std::vector<std::string>;

std::vector<std::uint32_t> mapped(const std::string& text, const std::string& network,
                                  const Hosts& hosts) {
  return place_by_map(parse_rank_map(text, "map", make_topology(network)), hosts);
}

TEST(RankMap, ProcessesOfAHostTakeItsRanksInOrder) {
  EXPECT_THAT(mapped("# where\n2-3 a\n\n0,1  b # the second\n", "ring:4", {"a", "b", "a", "b"}),
              ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(mapped("n1 a\nn0\tb\r\n3-2 c", "ring:4", {"a", "b", "c", "c"}),
              ElementsAre(1, 0, 2, 3));
}

TEST(RankMap, NamesUpToTheFirstDot) {
  EXPECT_THAT(mapped("0 a.example.org\n1 b\n", "ring:2", {"b.example.org", "a"}),
              ElementsAre(1, 0));
  EXPECT_EQ(error_of(ErrorCode::InvalidInput,
                     [] {
                       mapped("0 a.x.org\n1 a.y.org", "ring:2", {"a.x.org", "a.z.org"});
                     }),
            "map:2: expected a host of the job (a.x.org, a.z.org), got 'a.y.org'");
}

struct Bad {
  std::string text, message;
};
class BadMap : public ::testing::TestWithParam<Bad> {};

TEST_P(BadMap, NamesTheLine) {
  const std::string message = error_of(ErrorCode::InvalidInput, [] {
    mapped(GetParam().text, "star:4", {"a", "a", "b", "b"});
  });
  EXPECT_EQ(message, "map:" + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadMap,
    ::testing::Values(
        Bad{"", "1: the file is empty"},
        Bad{"0-3\n", "1: expected ranks and a host, as in '0-3 node07', got 1 word"},
        Bad{"0 - 3 a\n", "1: expected ranks and a host, as in '0-3 node07', got 4 words"},
        Bad{"# x\n0-4 a\n", "2: expected ranks below 4, got 4"},
        Bad{"sw0 a\n", "1: expected a rank, sw0 is a switch"},
        Bad{"n9 a\n", "1: 'n9' is neither a list of ranks nor the name of a node of star:4"},
        Bad{"0-1 a\n1-3 b\n", "2: rank 1 is in line 1 already"},
        Bad{"0-1 a\n3 b\n", "2: expected every rank below 4, rank 2 is in no line"},
        Bad{"0-1 a\n2 b\n3 c\n", "3: expected a host of the job (a, b), got 'c'"},
        Bad{"0-2 a\n3 b\n",
            "1: rank 2: the job has 2 processes on a, and as many ranks are there already"}),
    [](const auto& test) { return "case" + std::to_string(test.index); });

TEST(RankMap, AsManyProcessesAsRanks) {
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [] { mapped("0-1 a", "ring:2", {"a"}); }),
            "expected 2 processes, one for each rank, got 1");
}

std::vector<std::uint32_t> by_host(const std::string& network, const Hosts& hosts) {
  return place_by_host(make_topology(network), hosts);
}

TEST(ByHost, NamesOfNodesAreHosts) {
  EXPECT_THAT(by_host("ring:3", {"n2", "n0", "n1"}), ElementsAre(2, 0, 1));
  TopologyBuilder builder("two hosts");
  const NodeId net = builder.add_switch("net");
  for (const char* name : {"x/gpu0", "x/gpu1", "y/gpu0"}) {
    builder.add_duplex(builder.add_endpoint(name), net, {1}, {});
  }
  const Topology topology = std::move(builder).build();
  EXPECT_THAT(place_by_host(topology, Hosts{"x", "y", "x"}), ElementsAre(0, 2, 1));
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] {
                       place_by_host(topology, Hosts{"x", "y", "y"});
                     }),
            "x: two hosts has 2 ranks there, the job 1 processes");
}

TEST(ByHost, RoundRobinProcessesShareALeaf) {
  EXPECT_THAT(by_host("fattree:2x3", {"a", "b", "a", "b", "a", "b"}),
              ElementsAre(0, 3, 1, 4, 2, 5));
  // Boxes of GPUs that share one switch more.
  EXPECT_THAT(by_host("dgx-h100:2", {"b", "a", "a", "a", "a", "a", "a", "a", "a", "b", "b", "b",
                                     "b", "b", "b", "b"}),
              ElementsAre(0, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2, 3, 4, 5, 6, 7));
}

TEST(ByHost, LargeHostsFirst) {
  // One host of a leaf's size, two that share the other.
  EXPECT_THAT(by_host("fattree:2x4", {"a", "a", "b", "b", "b", "b", "c", "c"}),
              ElementsAre(4, 5, 0, 1, 2, 3, 6, 7));
  // One of two leaves, one of one.
  EXPECT_THAT(by_host("fattree:3x2", {"a", "a", "b", "b", "b", "b"}),
              ElementsAre(4, 5, 0, 1, 2, 3));
}

TEST(ByHost, WithoutGroupsOneAfterTheOther) {
  EXPECT_THAT(by_host("torus:2x2", {"a", "b", "a", "b"}), ElementsAre(0, 2, 1, 3));
}

TEST(ByHost, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument,
                       [] {
                         by_host("fattree:2x3", {"a", "a", "a", "a", "b", "b"});
                       }),
              StrEq("4 processes of a fit into no group of ranks of fattree:2x3 that is left, nor "
                    "into whole groups; use a file"));
}

TEST(RanksPerHost, AreAsTheNamesOfNodesTell) {
  EXPECT_EQ(ranks_per_host(make_topology("dgx-a100:2")), 8U);
  EXPECT_EQ(ranks_per_host(make_topology("rail:3x2")), 2U);
  EXPECT_EQ(ranks_per_host(make_topology("nvl72:2")), 72U);
  EXPECT_EQ(ranks_per_host(make_topology("torus:4x4")), 16U);
  EXPECT_EQ(ranks_per_host(make_topology("full:1")), 1U);
  EXPECT_THROW(ranks_per_host(make_topology("dgx-a100:2?dead=3")), Error);
  EXPECT_THROW(ranks_per_host(make_topology("dgx-a100:2?dead=11")), Error);
}

}  // namespace
}  // namespace multitree
