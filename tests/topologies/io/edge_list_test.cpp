// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks as lists of edges.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/paths.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/io/io.hpp"
#include "topologies/notes.hpp"

namespace multitree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// "a b 50GB/s 500ns" of each link, in their order.
std::vector<std::string> edges_of(const Topology& topology) {
  std::vector<std::string> links;
  for (const Link& link : topology.links()) {
    links.push_back(fmt::format("{} {} {} {}", topology.node(link.src).name,
                                topology.node(link.dst).name, to_string(link.bandwidth),
                                to_string(link.latency)));
  }
  return links;
}

std::vector<std::string> links_in(const std::string& text) {
  return edges_of(parse_topology_edge_list(text, "net.txt"));
}

TEST(EdgeList, HasNodesAndPerhapsARateAndALatency) {
  EXPECT_THAT(links_in("# a comment\n\na b\nb c 400Gb/s # another\r\n c\ta 1GB/s 2us\n"),
              ElementsAre("a b 16GB/s 150ns", "b a 16GB/s 150ns", "b c 50GB/s 150ns",
                          "c b 50GB/s 150ns", "c a 1GB/s 2us", "a c 1GB/s 2us"));
  EXPECT_THAT(links_in("a,b,1GB/s\n\"b, the second\" , a\n"),
              ElementsAre("a b 1GB/s 150ns", "b a 1GB/s 150ns", "b, the second a 16GB/s 150ns",
                          "a b, the second 16GB/s 150ns"));
}

TEST(EdgeList, HasRanksInTheOrderOfNames) {
  const Topology ring = parse_topology_edge_list("n10 n2\nn2 n9\nn9 n10\n", "rings/ring.edgelist");
  EXPECT_EQ(ring.name(), "ring");
  ASSERT_EQ(ring.num_ranks(), 3U);
  EXPECT_EQ(ring.node(ring.node_of(Rank{0})).name, "n2");
  EXPECT_EQ(ring.node(ring.node_of(Rank{2})).name, "n10");
}

TEST(EdgeList, HasNamesWithNumbersOfAnyLength) {
  const std::string large(24, '9');
  const Topology pair =
      parse_topology_edge_list("n" + large + " n2\n" + large + " n2\n", "net.txt");
  EXPECT_EQ(pair.num_ranks(), 3U);
}

TEST(EdgeList, IsWhatNetworkxWrites) {
  // write_edgelist() of a graph with attributes, of one without, write_weighted_edgelist()
  EXPECT_THAT(
      links_in("0 1 {'bandwidth': '1GB/s', 'latency': 500, 'pos': (1, 2), 'color': '#ff0'}\n"),
      ElementsAre("0 1 1GB/s 500ns", "1 0 1GB/s 500ns"));
  EXPECT_THAT(links_in("0 1 {}\n"), ElementsAre("0 1 16GB/s 150ns", "1 0 16GB/s 150ns"));
  Notes notes;
  EXPECT_THAT(links_in("0 1 12.5\n1 2 25GB/s\n"),
              ElementsAre("0 1 12.5GB/s 150ns", "1 0 12.5GB/s 150ns", "1 2 25GB/s 150ns",
                          "2 1 25GB/s 150ns"));
  EXPECT_THAT(notes.all(), ElementsAre("net.txt: 1 of 2 rates have no unit: GB/s are taken (write "
                                       "10Gb/s, or 1.25GB/s)"));
}

TEST(EdgeList, IsReadFromFiles) {
  const auto loaded = [](const std::string& name) {
    return load_topology(test::source_path("tests/data/good/" + name));
  };
  const Topology grid = loaded("grid.edgelist");
  EXPECT_EQ(grid.num_ranks(), 9U);
  EXPECT_EQ(grid.num_links(), 24U);
  const Topology petersen = loaded("petersen_directed.edgelist");  // a line is one direction
  EXPECT_EQ(petersen.num_links(), 30U);
  EXPECT_TRUE(petersen.is_symmetric());
  EXPECT_THAT(edges_of(loaded("desks_weighted.edgelist")),
              testing::Contains("desk3 desk1 2.5GB/s 150ns"));
  EXPECT_THAT(edges_of(loaded("cables.csv")), testing::Contains("node4 node1 3125MB/s 1us"));
}

TEST(EdgeList, NotesWeightsThatAreNotRead) {
  Notes notes;
  (void)links_in("0 1 {'weight': 3}\n");
  EXPECT_THAT(notes.all(),
              ElementsAre("net.txt: 1 of 1 edges have a 'weight', which is not read, and no "
                          "'bandwidth': 16GB/s is taken"));
}

TEST(EdgeList, HasColumnsOfAnyOrder) {
  EXPECT_THAT(
      links_in("latency;Target;label;From;bandwidth\n2us;b;x;a;1GB/s\n;c;;b;\n"),
      ElementsAre("a b 1GB/s 2us", "b a 1GB/s 2us", "b c 16GB/s 150ns", "c b 16GB/s 150ns"));
  // Between blanks these are nodes.
  EXPECT_THAT(links_in("from to\n"), ElementsAre("from to 16GB/s 150ns", "to from 16GB/s 150ns"));
}

TEST(EdgeList, HasADirectionALineIfEachHasItsReverse) {
  EXPECT_THAT(
      links_in("a b 1GB/s\nb c\nb a 2GB/s\nc b\n"),
      ElementsAre("a b 1GB/s 150ns", "b c 16GB/s 150ns", "b a 2GB/s 150ns", "c b 16GB/s 150ns"));
  EXPECT_THAT(links_in("a b\na b\n"), testing::SizeIs(4));  // two cables
}

struct BadList {
  std::string text, message;
};
void PrintTo(const BadList& bad, std::ostream* out) { *out << slug(bad.message); }

class BadEdgeList : public testing::TestWithParam<BadList> {};

TEST_P(BadEdgeList, IsRefusedWithItsLine) {
  EXPECT_THAT(error_of(ErrorCode::InvalidInput,
                       [] { (void)parse_topology_edge_list(GetParam().text, "net.txt"); }),
              HasSubstr("net.txt:" + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadEdgeList,
    testing::Values(
        BadList{" \n", "1: the file is empty"},
        BadList{"# nothing\n",
                "1: expected a line 'a b' for each link between two nodes: there is"},
        BadList{
            "a b\nc\n",
            "2: expected two nodes, and perhaps a rate and a latency, as in 'a b 50GB/s 500ns', "
            "got 'c'"},
        BadList{"a b\n{}\n", "2: expected two nodes, and perhaps a rate and a latency"},
        BadList{"a b 1GB/s 1us x\n", "1: expected two nodes, and perhaps a rate and a latency"},
        BadList{"a b 1GB/s {'latency': 5}\n", "1: expected two nodes, and perhaps"},
        BadList{"a b fast\n", "1: bandwidth: "},
        BadList{"a b 1GB/s 5\na c 1GB/s 5m\n", "2: latency: "},
        BadList{"a b -1\n", "1: bandwidth: expected a number >= 0 and in range, got -1"},
        BadList{"a b {'latency' 5}\n", "1: expected attributes as in"},
        BadList{"a b {'latency': 5\n", "1: expected attributes as in"},
        BadList{"a b {'capacity': 5}\n", "1: expected an attribute 'bandwidth', got 'capacity'"},
        BadList{"source,target,rate\na,b,5\n", "1: expected an attribute 'bandwidth', got 'rate'"},
        BadList{"source,target\na,b,5\n", "2: expected 2 values, one for each of source, target"},
        BadList{"a,\n", "1: the name of a node is empty"},
        BadList{"a b\nb c\nb a\n",
                "3: 'b a' is line 1 the other way, and 'b c' in line 2 has no such line: expected "
                "each cable once, or each of its two directions on a line"},
        BadList{"a b\nc c\n", "2: "}, BadList{"a b\nc d\n", "1: "}));

}  // namespace
}  // namespace multitree
