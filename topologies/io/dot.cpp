// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Graphviz DOT, parsed by Boost.Graph, which reports neither lines nor the order of nodes: both
/// are found here.
#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <numeric>
#include <utility>

#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/dot_lines_internal.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

struct DotNode : NodeAttributes {
  std::string index;  // NodeId, written by us
};
struct DotEdge {
  std::uint32_t src, dst;  // by position in DotFile::nodes
  EdgeAttributes attributes;
};
struct DotFile {
  bool directed = true;
  std::string name, family, dims;
  std::vector<DotNode> nodes;
  std::vector<DotEdge> edges;  // in file order
};

// Throws what Boost throws.
template <class Direction>
DotFile parse_as(const std::string& text) {
  using DotGraph =
      boost::adjacency_list<boost::vecS, boost::vecS, Direction, DotNode, EdgeAttributes>;
  DotFile file;
  DotGraph graph;
  // Called for every attribute that is not among the properties.
  boost::dynamic_properties properties(
      [&](const std::string& name, const boost::any& of, const boost::any&) {
        using Edge = typename boost::graph_traits<DotGraph>::edge_descriptor;
        if (const Edge* edge = boost::any_cast<Edge>(&of)) graph[*edge].others.push_back(name);
        return boost::shared_ptr<boost::dynamic_property_map>();
      });
  properties.property("node_id", get(&DotNode::id, graph));
  properties.property("rank", get(&DotNode::rank, graph));
  properties.property("kind", get(&DotNode::kind, graph));
  properties.property("type", get(&DotNode::type, graph));
  properties.property("switch", get(&DotNode::is_switch, graph));
  properties.property("adds", get(&DotNode::adds, graph));
  properties.property("copies", get(&DotNode::copies, graph));
  properties.property("at_once", get(&DotNode::at_once, graph));
  properties.property("index", get(&DotNode::index, graph));
  properties.property("bandwidth", get(&EdgeAttributes::bandwidth, graph));
  properties.property("latency", get(&EdgeAttributes::latency, graph));
  properties.property("name", boost::ref_property_map<DotGraph*, std::string>(file.name));
  properties.property("family", boost::ref_property_map<DotGraph*, std::string>(file.family));
  properties.property("dims", boost::ref_property_map<DotGraph*, std::string>(file.dims));
  boost::read_graphviz(text, graph, properties);

  file.directed = std::is_same_v<Direction, boost::bidirectionalS>;
  for (const auto vertex : boost::make_iterator_range(vertices(graph))) {
    file.nodes.push_back(graph[vertex]);
  }
  for (const auto edge : boost::make_iterator_range(edges(graph))) {
    file.edges.push_back({static_cast<std::uint32_t>(source(edge, graph)),
                          static_cast<std::uint32_t>(target(edge, graph)), graph[edge]});
  }
  return file;
}

DotFile parse_either(const std::string& text) {
  try {
    return parse_as<boost::bidirectionalS>(text);
  } catch (const boost::undirected_graph_error&) {
    return parse_as<boost::undirectedS>(text);
  }
}

// Parses a text, or says what Boost has against it.
std::optional<DotFile> try_parse(const std::string& text, std::string& problem) {
  try {
    return parse_either(text);
  } catch (const boost::bad_graphviz_syntax& error) {
    problem = error.errmsg;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  return std::nullopt;
}

DotFile parse_or_report(const std::string& text, const std::string& file) {
  std::string problem;
  if (auto dot = try_parse(text, problem)) return *std::move(dot);
  const auto syntax_error = [](const std::string& prefix) {
    std::string what;
    try_parse(prefix, what);
    return what;
  };
  fail_at(file, dot_syntax_line(text, problem, syntax_error), problem);
}

// Sorts by the index attribute if all nodes have one, else by name with numbers in numeric order.
std::vector<std::uint32_t> node_order(const std::vector<DotNode>& nodes) {
  std::vector<std::uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  const bool indexed = std::ranges::none_of(nodes, &std::string::empty, &DotNode::index);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return natural_less(indexed ? nodes[a].index : nodes[a].id,
                        indexed ? nodes[b].index : nodes[b].id);
  });
  return order;
}

RawNetwork to_raw_network(const DotFile& dot, const std::vector<std::uint32_t>& order,
                          const std::string& file, const LinkDefaults& defaults,
                          const ReportError& report) {
  RawNetwork network;
  network.name = dot.name.empty() ? name_of_file(file) : dot.name;
  const auto dims = parse_shape_dims(dot.dims);
  if (!dims) report(TopologyPart::Whole, 0, "dims: expected sizes as in 4x4, got " + dot.dims);
  network.shape = {dot.family, *dims};
  // What the attribute readers throw gets the part's line.
  const auto located = [&](TopologyPart part, std::size_t i, auto action) {
    try {
      action();
    } catch (const Error& error) {
      report(part, i, error.what());
    }
  };
  std::vector<NodeId> node_ids(order.size());
  for (std::uint32_t id = 0; id < order.size(); ++id) {
    node_ids[order[id]] = NodeId{id};
    located(TopologyPart::Node, id,
            [&] { network.nodes.push_back(to_raw_node(dot.nodes[order[id]])); });
  }
  UnreadWeights weights;
  for (const DotEdge& edge : dot.edges) {
    weights.look_at(edge.attributes);
    const NodeId src = node_ids[edge.src], dst = node_ids[edge.dst];
    located(TopologyPart::Link, network.links.size(), [&] {
      network.links.push_back(to_link(src, dst, edge.attributes, defaults));
      if (!dot.directed) network.links.push_back(to_link(dst, src, edge.attributes, defaults));
    });
  }
  weights.note(defaults.bandwidth, file);
  return network;
}

void check_quotable(const std::string& name) {
  // Boost takes a backslash before a quote as an escape and has no escape for the backslash itself.
  if (name.ends_with('\\') || name.find("\\\"") != std::string::npos) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("DOT cannot hold the name '{}': a backslash before a quote", name));
  }
}

/// What a switch does, as attributes after others.
std::string abilities_of(const Node& node) {
  std::string text;
  if (node.abilities.adds) text += ", adds=true";
  if (node.abilities.copies) text += ", copies=true";
  if (node.abilities.at_once > 0) text += fmt::format(", at_once={}", node.abilities.at_once);
  return text;
}

std::string quoted(const std::string& name) {
  check_quotable(name);
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\\\"") : std::string(1, c);
  return text + '"';
}

}  // namespace

Topology parse_topology_dot(std::string_view text, const std::string& file,
                            const LinkDefaults& defaults) {
  check_text(text, file);
  check_dot_nesting(text, file);
  check_dot_numbers(text, file);
  const std::string copy(text);
  const DotFile dot = parse_or_report(copy, file);
  const std::vector<std::uint32_t> order = node_order(dot.nodes);
  const std::size_t links_per_edge = dot.directed ? 1 : 2;
  const auto report = [&](TopologyPart part, std::size_t i, const std::string& what) {
    fail_at(file,
            part == TopologyPart::Whole  ? 1
            : part == TopologyPart::Node ? dot_node_line(text, dot.nodes[order[i]].id)
                                         : dot_edge_line(text, i / links_per_edge),
            what);
  };
  return build_topology(to_raw_network(dot, order, file, defaults, report), report);
}

std::string write_topology_dot(const Topology& topology) {
  std::string text = fmt::format("digraph {{\n  name={};\n", quoted(topology.name()));
  if (topology.shape() != Shape{}) {
    text += fmt::format("  family={};\n  dims=\"{}\";\n", quoted(topology.shape().family),
                        format_shape_dims(topology.shape()));
  }
  std::uint32_t id = 0;
  for (const Node& node : topology.nodes()) {
    const std::string role = node.rank ? fmt::format("rank={}", index(*node.rank))
                                       : std::string("kind=switch, shape=box");
    text +=
        fmt::format("  {} [index={}, {}{}];\n", quoted(node.name), id++, role, abilities_of(node));
  }
  for (const Link& link : topology.links()) {
    text += fmt::format("  {} -> {} [bandwidth=\"{}\", latency=\"{}\"];\n",
                        quoted(topology.node(link.src).name), quoted(topology.node(link.dst).name),
                        to_string(link.bandwidth), to_string(link.latency));
  }
  return text + "}\n";
}

}  // namespace multitree
