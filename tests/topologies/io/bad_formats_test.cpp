// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The messages for wrong topology files, with their lines.
#include <gtest/gtest.h>

#include "tests/topologies/error_matcher.hpp"
#include "topologies/io/io.hpp"

namespace multitree {
namespace {

using testing::StartsWith;

struct BadFile {
  std::string text;
  std::string message;
};

void PrintTo(const BadFile& bad, std::ostream* out) {
  *out << slug(bad.message) << '_' << bad.text.size();
}

// Two nodes on lines 5 and 6, a duplex pair on lines 9 and 10; `from` is replaced by `to`.
BadFile json(const std::string& from, const std::string& to, const std::string& message) {
  std::string text = R"({
  "schema": "multitree/topology/1",
  "name": "t",
  "nodes": [
    {"id":"a","rank":0},
    {"id":"b","rank":1}
  ],
  "links": [
    {"src":"a","dst":"b","bandwidth":"1GB/s","latency":"1ns","count":2},
    {"src":"b","dst":"a","bandwidth":"2GB/s","latency":"2ns"}
  ]
})";
  text.replace(text.find(from), from.size(), to);
  return {text, "f:" + message};
}

class BadJsonTopology : public testing::TestWithParam<BadFile> {};

TEST_P(BadJsonTopology, IsRefusedWithItsLine) {
  EXPECT_THAT(
      error_of(ErrorCode::InvalidInput, [] { (void)parse_topology_json(GetParam().text, "f"); }),
      StartsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadJsonTopology,
    testing::Values(
        json("topology/1", "topology/2", "2: expected the schema 'multitree/topology/1', got"),
        json("\"name\": \"t\",", "", "1: the member 'name' is missing"),
        json("\"name\"", "\"nmae\"", "3: unknown key 'nmae'; known here: schema, name"),
        json("\"rank\":1", "\"rank\":0", "6: node 1 (b): rank 0 is already that of node 0 (a)"),
        json("\"rank\":1", "\"rank\":2", "6: node 1 (b): ranks must be 0..1, each once, got 2"),
        json("\"rank\":1", "\"rank\":-1", "6: 'rank': expected an integer from 0 to 1048575"),
        json("\"rank\":1", "\"rank\":99999999999", "6: 'rank': expected an integer"),
        json("\"rank\":1", "\"rank\":1,\"adds\":1", "6: 'adds': expected true or false, got 1"),
        json("\"rank\":1", "\"rank\":1,\"copies\":true",
             "6: node 1 (b): only a switch adds or copies, this is a rank"),
        json("\"rank\":1", "\"rank\":1,\"at_once\":0", "6: 'at_once': expected an integer from 1"),
        json("\"id\":\"b\"", "\"id\":\"a\"", "6: the node 'a' is repeated"),
        json("\"id\":\"b\"", "\"id\":\"\"", "6: the name is empty"),
        json("\"dst\":\"b\"", "\"dst\":\"c\"", "9: there is no node 'c'"),
        json("1GB/s", "0GB/s", "9: expected a bandwidth such as 16GB/s or 400Gb/s, got '0GB/s'"),
        json("2GB/s", "-2GB/s", "10: expected a bandwidth"),
        json("2GB/s", "2", "10: expected a bandwidth"),
        json("\"2GB/s\"", "2", "10: 'bandwidth': expected a string, got 2"),
        json("2ns", "2s", "10: link 1->0 (b->a): latency must be from 0s to 1s, got 2s"),
        json("\"dst\":\"a\"", "\"dst\":\"b\"", "10: link 1->1 (b->b): it joins a node to itself"),
        json("\"count\":2", "\"count\":0", "9: 'count': expected an integer from 1 to"),
        json("\"count\":2", "\"count\":99999999", "9: 'count': expected an integer from 1 to"),
        json("\"count\":2", "\"count\":16777216", "10: a topology has at most 16777216 links"),
        json("\"dst\":\"b\"", "\"dts\":\"b\"", "9: unknown key 'dts'"),
        json("\"nodes\": [", "\"nodes\": [3,", "4: 'nodes[0]': expected an object, got 3"),
        json("\"src\":\"b\",\"dst\":\"a\"", "\"src\":\"a\",\"dst\":\"b\"",
             "1: rank 1 (b) cannot reach rank 0 (a)"),
        BadFile{"[]", "f:1: the document: expected an object, got an array of 0"}));

class BadDotTopology : public testing::TestWithParam<BadFile> {};

TEST_P(BadDotTopology, IsRefusedWithItsLine) {
  EXPECT_THAT(
      error_of(ErrorCode::InvalidInput, [] { (void)parse_topology_dot(GetParam().text, "f"); }),
      StartsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadDotTopology,
    testing::Values(
        BadFile{"", "f:1: the file is empty"}, BadFile{"hello", "f:1: Wanted \"graph\""},
        BadFile{"digraph {\n a -> b;\n b -> ;\n c -> d;\n}\n", "f:3: Wanted"},
        BadFile{"digraph {\n a -> b;\n a -- b;\n}\n", "f:3: Using -- in directed graph"},
        BadFile{"digraph {\n a -> b;\n b -> a\n\n", "f:3: Invalid start token"},
        BadFile{"digraph {\n a -> b [x=];\n}\n", "f:2: Wanted identifier as value"},
        BadFile{"digraph {\n a -> \"b\n}\n", "f:2: Invalid character"},
        BadFile{"digraph {\n \"\xff\";\n}", "f:2: a byte that is no UTF-8 text"},
        BadFile{"digraph " + std::string(100'000, '{'), "f:1: nested deeper than 100 levels"},
        BadFile{"digraph {}", "f:1: the topology has no rank"},
        BadFile{"digraph {\n a -> b;\n}", "f:1: rank 1 (b) cannot reach rank 0 (a)"},
        BadFile{"digraph {\n a -> b -> a\n b -> b;\n}", "f:3: link 1->1 (b->b)"},
        BadFile{"digraph {\n a -> b;\n b -> a [bandwidth=\"fast\"];\n}",
                "f:3: bandwidth: expected a bandwidth such as 16GB/s"},
        BadFile{"graph {\n a -- b;\n // --\n b -- c [bandwidth=0];\n}",
                "f:4: link 1->2 (b->c): bandwidth must be > 0, got 0B/s"},
        BadFile{"graph {\n a -- b [latency=-3];\n}", "f:2: latency: expected a number >= 0"},
        BadFile{"graph {\n a -- b [latency=nan];\n}", "f:2: latency: expected a number >= 0"},
        BadFile{"graph {\n a -- b;\n a [rank=0];\n b [rank=x];\n}", "f:2: rank: expected a number"},
        BadFile{"graph {\n a [rank=0];\n b [rank=0];\n a -- b;\n}",
                "f:3: node 1 (b): rank 0 is already that of node 0 (a)"},
        BadFile{"graph {\n a -- b;\n a [kind=switch, adds=yes];\n}",
                "f:2: adds: expected true or false, got 'yes'"},
        BadFile{"graph {\n a [kind=switch, adds=true, at_once=x];\n}",
                "f:2: at_once: expected a number from 1 to 4294967295, got 'x'"},
        BadFile{"graph {\n a [rank=0, kind=switch];\n}",
                "f:2: node 'a' is a switch and has rank 0"}));

BadFile graphml(const std::string& content, const std::string& message) {
  return {R"(<graphml>
<key id="r" for="node" attr.name="rank" attr.type="int"/>
<key id="b" for="edge" attr.name="bandwidth" attr.type="double"/>
<graph edgedefault="undirected">
)" + content + "\n</graph>\n</graphml>\n",
          "f:" + message};
}

class BadGraphmlTopology : public testing::TestWithParam<BadFile> {};

TEST_P(BadGraphmlTopology, IsRefusedWithItsLine) {
  EXPECT_THAT(
      error_of(ErrorCode::InvalidInput, [] { (void)parse_topology_graphml(GetParam().text, "f"); }),
      StartsWith(GetParam().message));
}

const std::string kNodes = "<node id=\"a\"/><node id=\"b\"/>\n";

INSTANTIATE_TEST_SUITE_P(
    All, BadGraphmlTopology,
    testing::Values(
        BadFile{"", "f:1: the file is empty"}, BadFile{"{}", "f:1: "},
        BadFile{"<graphml>\n<graph", "f:2: Error parsing start element tag"},
        BadFile{"<a>\n</b>", "f:2: Start-end tags mismatch"},
        BadFile{"\n<svg/>", "f:2: expected the root element <graphml>"},
        BadFile{"<graphml>\n</graphml>", "f:1: expected an element <graph>"},
        BadFile{"<graphml><graph/></graphml>", "f:1: <graph> lacks the attribute 'edgedefault'"},
        BadFile{"<graphml>\n<graph edgedefault=\"no\"/></graphml>", "f:2: edgedefault: expected"},
        graphml("", "4: the topology has no rank"),
        graphml("<node/>", "5: <node> lacks the attribute 'id'"),
        graphml(kNodes + "<node id=\"a\"/>", "6: the node 'a' is repeated"),
        graphml(kNodes, "4: rank 0 (a) cannot reach rank 1 (b)"),
        graphml(kNodes + "<edge source=\"a\"/>", "6: <edge> lacks the attribute 'target'"),
        graphml(kNodes + "<edge source=\"a\" target=\"c\"/>", "6: target: there is no node 'c'"),
        graphml(kNodes + "<edge source=\"a\" target=\"a\"/>", "6: link 0->0 (a->a): it joins"),
        graphml(kNodes + "<edge source=\"a\" target=\"b\"><data key=\"z\">1</data></edge>",
                "6: there is no <key> with the id 'z'"),
        graphml(kNodes + "<edge source=\"a\" target=\"b\"><data key=\"b\">nan</data></edge>",
                "6: bandwidth: expected a number >= 0 and in range, got nan"),
        graphml(kNodes + "<edge source=\"a\" target=\"b\"><data key=\"b\">1e30</data></edge>",
                "6: bandwidth: expected a number >= 0 and in range, got 1e30"),
        graphml(kNodes + "<edge source=\"a\" target=\"b\"><data key=\"b\">0.0</data></edge>",
                "6: link 0->1 (a->b): bandwidth must be > 0, got 0B/s"),
        graphml("<node id=\"a\"><data key=\"r\">-1</data></node>", "5: rank: expected a number"),
        graphml("<node id=\"a\"><data key=\"r\">1.5</data></node>", "5: rank: expected a number"),
        graphml("<hyperedge/>", "5: hyperedges are not supported"),
        graphml("<node id=\"a\">\n<graph/></node>", "6: nested graphs are not supported")));

}  // namespace
}  // namespace multitree
