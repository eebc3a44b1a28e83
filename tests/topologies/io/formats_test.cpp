// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// JSON, DOT and GraphML: round trips, files of other tools, and the messages for wrong ones.
#include <gtest/gtest.h>

#include "tests/paths.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

struct Format {
  const char* file;
  Topology (*parse)(std::string_view, const std::string&);
  std::string (*write)(const Topology&);
};

const Format kJson{"t.json", parse_topology_json, write_topology_json};
const Format kDot{
    "t.dot",
    [](std::string_view text, const std::string& file) { return parse_topology_dot(text, file); },
    write_topology_dot};
const Format kGraphml{"t.graphml",
                      [](std::string_view text, const std::string& file) {
                        return parse_topology_graphml(text, file);
                      },
                      write_topology_graphml};

void PrintTo(const Format& format, std::ostream* out) { *out << format.file; }

class RoundTrip : public testing::TestWithParam<Format> {
 protected:
  static void expect_round_trip(const Topology& topology) {
    const std::string text = GetParam().write(topology);
    const Topology read = GetParam().parse(text, GetParam().file);
    EXPECT_EQ(read, topology) << text;
    EXPECT_EQ(GetParam().write(read), text);
  }
};

TEST_P(RoundTrip, KeepsEveryFamily) {
  for (const TopologyFamily& family : topology_families()) {
    expect_round_trip(make_topology(family.example));
  }
  for (const char* spec : {"ring:1", "torus:12x1?bw=400Gb/s,3.7GB/s", "mesh:3x3?without=0>1"}) {
    expect_round_trip(make_topology(spec));
  }
}

TEST_P(RoundTrip, KeepsWhatSwitchesDo) {
  expect_round_trip(
      make_topology("fattree:2x2?switches=leaf0:add,leaf1:copy,leaf1:7,spine0:add,spine0:copy"));
}

TEST_P(RoundTrip, KeepsLinkOrderParallelLinksAndOddNames) {
  TopologyBuilder builder("odd <&> \"name\"");
  const NodeId sw = builder.add_switch("a switch, \"quoted\" -> <x>");
  const NodeId b = builder.add_endpoint("\xC3\xA9t\xC3\xA9/[1]\\n", Rank{1});
  const NodeId a = builder.add_endpoint("10", Rank{0});
  const NodeId c = builder.add_endpoint("9", Rank{2});
  const Bandwidth slow{1}, fast{123'456'789'012};
  for (int i = 0; i < 3; ++i) builder.add_link(sw, b, fast, Time{1});
  builder.add_link(b, a, slow, Time{});
  builder.add_link(sw, b, fast, Time{1});
  builder.add_link(a, sw, slow, Time{1'000'000'000'000});
  builder.add_duplex(c, sw, slow, Time{17});
  expect_round_trip(std::move(builder).build());
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, testing::Values(kJson, kDot, kGraphml));

TEST(Json, IsOneNodeOrLinkALine) {
  EXPECT_EQ(write_topology_json(make_topology("star:1")), R"({
  "schema": "multitree/topology/1",
  "name": "star:1",
  "shape": {"family":"star","dims":[1]},
  "nodes": [
    {"id":"n0","rank":0},
    {"id":"sw0"}
  ],
  "links": [
    {"src":"n0","dst":"sw0","bandwidth":"16GB/s","latency":"150ns"},
    {"src":"sw0","dst":"n0","bandwidth":"16GB/s","latency":"150ns"}
  ]
}
)");
}

TEST(Dot, RefusesANameThatItCannotHold) {
  TopologyBuilder builder("name");
  builder.add_endpoint("ends with \\");
  const Topology topology = std::move(builder).build();
  EXPECT_THAT(error_of(ErrorCode::Unsupported, [&] { (void)write_topology_dot(topology); }),
              HasSubstr("DOT cannot hold the name"));
  EXPECT_EQ(kJson.parse(kJson.write(topology), "f"), topology);
  EXPECT_EQ(kGraphml.parse(kGraphml.write(topology), "f"), topology);
}

std::string good(const std::string& name) { return test::source_path("tests/data/good/" + name); }

TEST(Fixtures, UndirectedGraphmlOfNetworkx) {
  const Topology topology = load_topology(good("petersen_undirected.graphml"));
  EXPECT_EQ(topology.name(), "petersen");
  EXPECT_EQ(topology.num_ranks(), 10U);
  EXPECT_EQ(topology.num_links(), 30U);
  EXPECT_TRUE(topology.is_symmetric());
  EXPECT_EQ(to_string(topology.link(LinkId{0}).bandwidth), "25GB/s");
  EXPECT_EQ(to_string(topology.link(LinkId{0}).latency), "1us");
}

TEST(Fixtures, DirectedGraphmlWithNumbersRanksAndASwitch) {
  const Topology topology = load_topology(good("star_directed.graphml"));
  EXPECT_EQ(topology.num_ranks(), 4U);
  EXPECT_EQ(topology.node(topology.node_of(Rank{3})).name, "gpu0");
  EXPECT_TRUE(topology.node(NodeId{0}).is_switch());
  EXPECT_EQ(topology.unit_bandwidth().bytes_per_second, 12'500'000'000U);
  EXPECT_EQ(topology.slots(topology.out_links(topology.node_of(Rank{3}))[0]), 2U);
  EXPECT_EQ(to_string(topology.link(LinkId{0}).latency), "500ns");
}

TEST(Fixtures, MultigraphWithoutSpeedsGetsTheDefaults) {
  const std::string file = good("parallel_multigraph.graphml");
  const Topology topology = load_topology(file);
  EXPECT_EQ(topology.num_ranks(), 2U);
  EXPECT_EQ(topology.num_links(), 8U);
  EXPECT_EQ(topology.name(), "parallel_multigraph");
  EXPECT_EQ(to_string(topology.link(LinkId{0}).bandwidth), "16GB/s");
  const LinkDefaults defaults{Bandwidth{5}, Time{7}};
  const Link link = parse_topology_graphml(read_file(file), file, defaults).link(LinkId{0});
  EXPECT_EQ(link.bandwidth, Bandwidth{5});
  EXPECT_EQ(link.latency, Time{7});
}

TEST(Fixtures, GraphmlWithTupleNames) {
  const Topology topology = load_topology(good("grid_tuples.graphml"));
  EXPECT_EQ(topology.num_ranks(), 6U);
  EXPECT_EQ(topology.node(NodeId{0}).name, "(0, 0)");
}

TEST(Fixtures, HandWrittenDotOrdersNamesByTheirNumbers) {
  const Topology topology = load_topology(good("star.dot"));
  EXPECT_EQ(topology.name(), "star");
  EXPECT_EQ(topology.num_ranks(), 4U);
  EXPECT_TRUE(topology.is_symmetric() && topology.has_switches());
  EXPECT_EQ(topology.node(topology.node_of(Rank{2})).name, "h9");
  EXPECT_EQ(topology.node(topology.node_of(Rank{3})).name, "h10");
  for (const Link& link : topology.links()) EXPECT_EQ(to_string(link.bandwidth), "12.5GB/s");
  EXPECT_EQ(to_string(topology.link(LinkId{0}).latency), "1us");
  EXPECT_EQ(to_string(topology.link(LinkId{7}).latency), "150ns");
}

TEST(Fixtures, JsonWithCounts) {
  const Topology topology = load_topology(good("ring4.json"));
  EXPECT_EQ(topology.num_links(), 5U);
  EXPECT_EQ(topology.link(LinkId{0}), topology.link(LinkId{1}));
  EXPECT_EQ(topology.shape(), Shape{});
  EXPECT_EQ(topology.node_of(Rank{1}), NodeId{2});
  EXPECT_THAT(write_topology_json(topology), HasSubstr("\"latency\":\"500ns\",\"count\":2}"));
}

}  // namespace
}  // namespace multitree
