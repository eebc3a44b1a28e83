// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// GraphML as the Internet Topology Zoo writes it: rates of links in bits a second, where there are
/// any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/paths.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/io/io.hpp"
#include "topologies/notes.hpp"

namespace multitree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// "0-1 1.25GB/s" for every link that leads to a node behind its own in the file.
std::vector<std::string> rates(const Topology& topology) {
  std::vector<std::string> found;
  for (const Link& link : topology.links()) {
    if (link.src > link.dst) continue;
    found.push_back(topology.node(link.src).name + "-" + topology.node(link.dst).name + " " +
                    to_string(link.bandwidth));
  }
  return found;
}

/// Two edges between two nodes, and the attributes of each.
std::string two_edges(const std::string& one, const std::string& other) {
  return R"(<graphml>
<key id="d37" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
<key id="d36" for="edge" attr.name="LinkSpeedUnits" attr.type="string"/>
<key id="d35" for="edge" attr.name="LinkSpeed" attr.type="string"/>
<key id="d9" for="edge" attr.name="bandwidth" attr.type="double"/>
<graph edgedefault="undirected"><node id="0"/><node id="1"/>
<edge source="0" target="1">)" +
         one + "</edge>\n<edge source=\"0\" target=\"1\">" + other + "</edge></graph></graphml>";
}

Topology parse(const std::string& one, const std::string& other) {
  return parse_topology_graphml(two_edges(one, other), "f");
}

TEST(Zoo, EdgesHaveTheirRawRateOrThatInUnitsOrTheMostFrequent) {
  const Notes notes;
  const std::string file = test::source_path("tests/data/good/zoo.graphml");
  const Topology topology = load_topology(file);
  EXPECT_THAT(rates(topology),
              ElementsAre("0-1 1.25GB/s", "0-1 312.5MB/s", "1-2 1.25GB/s", "2-3 19375KB/s",
                          "0-3 1.25GB/s", "3-4 1.25GB/s", "2-4 16KB/s"));
  EXPECT_TRUE(topology.is_symmetric());
  EXPECT_EQ(topology.num_links(), 14U);
  EXPECT_THAT(notes.all(),
              ElementsAre(file + ": 2 of 7 edges, the first in line 68, say no rate; taken as "
                                 "1.25GB/s, the most frequent rate, which 2 of the others have"));
}

TEST(Zoo, NodesAreTheirIdsWhateverTheirLabels) {
  const Topology topology = load_topology(test::source_path("tests/data/good/zoo.graphml"));
  EXPECT_EQ(topology.num_ranks(), 4U);
  EXPECT_TRUE(topology.node(NodeId{2}).is_switch());  // its type
  EXPECT_EQ(topology.node(topology.node_of(Rank{2})).name, "3");
}

TEST(Zoo, TheLowerOfTwoRatesThatAreAsFrequent) {
  const Notes notes;
  const std::string text =
      two_edges("<data key=\"d37\">8e9</data>", "<data key=\"d37\">8e6</data>");
  const std::string more = "<edge source=\"0\" target=\"1\"/></graph>";
  const std::string whole = text.substr(0, text.find("</graph>")) + more + "</graphml>";
  const Topology topology = parse_topology_graphml(whole, "f");
  EXPECT_EQ(to_string(topology.link(LinkId{4}).bandwidth), "1MB/s");
  EXPECT_EQ(topology.link(LinkId{5}), (Link{NodeId{1}, NodeId{0}, {1'000'000}, Time{150'000}}));
}

TEST(Zoo, TheDefaultWhereNoEdgeHasARate) {
  const Notes notes;
  const Topology topology = parse("", "");
  EXPECT_EQ(to_string(topology.unit_bandwidth()), "16GB/s");
  EXPECT_THAT(notes.all(),
              ElementsAre("f: 2 of 2 edges, the first in line 7, say no rate; taken as "
                          "16GB/s, the default, as no edge has one"));
}

TEST(Zoo, SaysNothingWhereAllHaveRates) {
  const Notes notes;
  const Topology topology = parse("<data key=\"d9\">2</data><data key=\"d37\">8e9</data>",
                                  "<data key=\"d35\">1</data><data key=\"d36\">T</data>");
  EXPECT_THAT(rates(topology), ElementsAre("0-1 2GB/s", "0-1 125GB/s"));
  EXPECT_THAT(notes.all(), IsEmpty());
}

TEST(Zoo, RefusesNumbersThatAreNoRates) {
  for (const char* wrong : {"fast", "0", "-1e9", "nan", "1e30", "3"}) {
    EXPECT_THAT(error_of(ErrorCode::InvalidInput,
                         [&] {
                           (void)parse("<data key=\"d37\">8</data>",
                                       std::string("<data key=\"d37\">") + wrong + "</data>");
                         }),
                HasSubstr(std::string("f:8: LinkSpeedRaw: expected bits a second, got '") + wrong))
        << wrong;
  }
  EXPECT_THAT(
      error_of(ErrorCode::InvalidInput,
               [] { (void)parse("", "<data key=\"d35\">0</data><data key=\"d36\">G</data>"); }),
      HasSubstr("f:8: LinkSpeed: expected a rate in Gbit/s, got '0'"));
}

TEST(Zoo, OtherFilesWithASpeedAreStillRefused) {
  const std::string text = R"(<graphml>
<key id="s" for="edge" attr.name="LinkSpeed" attr.type="string"/>
<graph edgedefault="undirected"><node id="0"/><node id="1"/>
<edge source="0" target="1"><data key="s">10</data></edge></graph></graphml>)";
  EXPECT_THAT(
      error_of(ErrorCode::InvalidInput, [&] { (void)parse_topology_graphml(text, "f"); }),
      HasSubstr("f:4: expected an attribute 'bandwidth', got 'LinkSpeed', which is not read"));
}

TEST(Notes, GoToTheLatestThatCollects) {
  Notes::add("nobody hears this");
  const Notes outer;
  {
    const Notes inner;
    Notes::add("one");
    Notes::add("one");
    EXPECT_THAT(inner.all(), ElementsAre("one"));
  }
  Notes::add("two");
  EXPECT_THAT(outer.all(), ElementsAre("two"));
}

}  // namespace
}  // namespace multitree
