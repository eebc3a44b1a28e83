// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// GraphML, as networkx, yEd, Gephi and the Internet Topology Zoo write it. Read with pugixml:
/// Boost's reader refuses undirected graphs and loses the node ids.
#include <fmt/format.h>

#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "topologies/families.hpp"
#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/link_speed_internal.hpp"
#include "topologies/io/xml_internal.hpp"

namespace multitree {
namespace {

// <key id="d0" for="edge" attr.name="bandwidth"><default>16</default></key>
struct Key {
  std::string scope, name;
};
using Attributes = std::map<std::string, std::string, std::less<>>;

class GraphmlReader {
 public:
  GraphmlReader(std::string_view text, const std::string& file, const LinkDefaults& defaults)
      : xml_(text, file), defaults_(defaults) {}

  Topology read() {
    const pugi::xml_node root = xml_.document().child("graphml");
    if (const pugi::xml_node other = xml_.document().document_element(); !root) {
      fail(other, fmt::format("expected the root element <graphml>, got <{}>", other.name()));
    }
    const pugi::xml_node graph = root.child("graph");
    if (!graph) fail(root, "expected an element <graph>");
    if (const auto second = graph.next_sibling("graph")) fail(second, "expected one <graph> only");
    read_keys(root);
    read_graph(graph);
    return build_topology(std::move(network_), [&](TopologyPart part, std::size_t i, auto& what) {
      fail(part == TopologyPart::Whole  ? graph
           : part == TopologyPart::Node ? node_elements_[i]
                                        : link_elements_[i],
           what);
    });
  }

 private:
  [[noreturn]] void fail(const pugi::xml_node& at, const std::string& what) const {
    xml_.fail(at, what);
  }
  std::string require(const pugi::xml_node& element, const char* attribute) const {
    return xml_.require(element, attribute);
  }

  void read_keys(const pugi::xml_node& root) {
    for (const pugi::xml_node& element : root.children("key")) {
      const std::string id = require(element, "id");
      // yEd writes keys for its drawings, which have no attr.name.
      const Key key{element.attribute("for").as_string("all"),
                    element.attribute("attr.name").value()};
      if (!keys_.emplace(id, key).second)
        fail(element, fmt::format("the key '{}' is repeated", id));
      of_zoo_ |= key.name == "LinkSpeedRaw" || key.name == "LinkSpeedUnits";
      if (const auto fallback = element.child("default")) {
        for (const char* scope : {"graph", "node", "edge"}) {
          if (key.scope == scope || key.scope == "all") {
            fallbacks_[scope][key.name] = fallback.text().get();
          }
        }
      }
    }
  }

  // The <data> of an element over the defaults of its kind.
  Attributes read_data(const pugi::xml_node& element) const {
    const auto fallback = fallbacks_.find(element.name());
    Attributes values = fallback == fallbacks_.end() ? Attributes{} : fallback->second;
    for (const pugi::xml_node& data : element.children("data")) {
      const std::string id = require(data, "key");
      const auto key = keys_.find(id);
      if (key == keys_.end()) fail(data, fmt::format("there is no <key> with the id '{}'", id));
      values[key->second.name] = data.text().get();
    }
    return values;
  }

  static std::string take(Attributes& values, std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : std::move(found->second);
  }

  void read_graph(const pugi::xml_node& graph) {
    const std::string direction = require(graph, "edgedefault");
    if (direction != "directed" && direction != "undirected") {
      fail(graph, fmt::format("edgedefault: expected directed or undirected, got '{}'", direction));
    }
    Attributes values = read_data(graph);
    network_.name = take(values, "name");
    if (network_.name.empty()) network_.name = name_of_file(xml_.file());
    const auto dims = parse_shape_dims(take(values, "dims"));
    if (!dims) fail(graph, "dims: expected sizes as in 4x4");
    network_.shape = {take(values, "family"), *dims};

    for (const pugi::xml_node& element : graph.children()) {
      const std::string_view name = element.name();
      if (name == "hyperedge") fail(element, "hyperedges are not supported");
      if (name == "node") read_node(element);
    }
    for (const pugi::xml_node& element : graph.children("edge")) {
      read_edge(element, element.attribute("directed").as_bool(direction == "directed"));
    }
    unstated_.fill(network_.links, defaults_.bandwidth, xml_.file());
    weights_.note(defaults_.bandwidth, xml_.file());
  }

  void read_node(const pugi::xml_node& element) {
    if (element.child("graph")) fail(element.child("graph"), "nested graphs are not supported");
    Attributes values = read_data(element);
    NodeAttributes attributes{require(element, "id"), take(values, "rank"),   take(values, "kind"),
                              take(values, "type"),   take(values, "switch"), take(values, "adds"),
                              take(values, "copies"), take(values, "at_once")};
    const NodeId id{static_cast<std::uint32_t>(network_.nodes.size())};
    if (!nodes_.emplace(attributes.id, id).second) {
      fail(element, fmt::format("the node '{}' is repeated", attributes.id));
    }
    located(element, [&] { network_.nodes.push_back(to_raw_node(std::move(attributes))); });
    node_elements_.push_back(element);
  }

  NodeId find_node(const pugi::xml_node& edge, const char* attribute) const {
    const std::string name = require(edge, attribute);
    const auto found = nodes_.find(name);
    if (found == nodes_.end())
      fail(edge, fmt::format("{}: there is no node '{}'", attribute, name));
    return found->second;
  }

  /// Whether the edge's rate is known. Only a file of the Topology Zoo has attributes for one
  /// besides `bandwidth`; in others an edge without has the default.
  bool take_speed(const pugi::xml_node& element, Attributes& values, LinkDefaults& defaults) {
    if (!of_zoo_) return true;
    const ZooSpeed speed{take(values, "LinkSpeedRaw"), take(values, "LinkSpeed"),
                         take(values, "LinkSpeedUnits")};
    for (const char* name : {"LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits"}) values.erase(name);
    bool stated = false;
    located(element, [&] {
      const auto bandwidth = to_bandwidth(speed);
      stated = bandwidth.has_value();
      if (stated) defaults.bandwidth = *bandwidth;
    });
    return stated;
  }

  void read_edge(const pugi::xml_node& element, bool directed) {
    Attributes values = read_data(element);
    EdgeAttributes attributes{take(values, "bandwidth"), take(values, "latency")};
    LinkDefaults defaults = defaults_;
    const bool stated = !attributes.bandwidth.empty() || take_speed(element, values, defaults);
    for (const auto& [name, value] : values) {
      if (!value.empty()) attributes.others.push_back(name);
    }
    if (!of_zoo_) weights_.look_at(attributes);
    const NodeId src = find_node(element, "source"), dst = find_node(element, "target");
    const std::size_t first = network_.links.size();
    located(element, [&] {
      network_.links.push_back(to_link(src, dst, attributes, defaults));
      if (!directed) network_.links.push_back(to_link(dst, src, attributes, defaults));
    });
    link_elements_.resize(network_.links.size(), element);
    if (stated) unstated_.state(network_.links[first].bandwidth);
    if (!stated) unstated_.leave_open(first, network_.links.size(), xml_.line(element));
    if (network_.links.size() > kMaxLinks) {
      fail(element, fmt::format("a topology has at most {} links", kMaxLinks));
    }
  }

  // Adds the line to what the attribute readers report.
  template <class Action>
  void located(const pugi::xml_node& element, Action action) const {
    try {
      action();
    } catch (const Error& error) {
      fail(element, error.what());
    }
  }

  XmlText xml_;
  const LinkDefaults& defaults_;
  std::map<std::string, Key> keys_;
  std::map<std::string, Attributes> fallbacks_;
  bool of_zoo_ = false;
  RawNetwork network_;
  UnstatedRates unstated_;
  UnreadWeights weights_;
  std::unordered_map<std::string, NodeId> nodes_;
  std::vector<pugi::xml_node> node_elements_, link_elements_;
};

void add_key(pugi::xml_node root, const char* scope, const char* name, const char* type) {
  pugi::xml_node key = root.append_child("key");
  key.append_attribute("id") = name;
  key.append_attribute("for") = scope;
  key.append_attribute("attr.name") = name;
  key.append_attribute("attr.type") = type;
}

void add_data(pugi::xml_node element, const char* key, const std::string& value) {
  pugi::xml_node data = element.append_child("data");
  data.append_attribute("key") = key;
  data.text() = value.c_str();
}

}  // namespace

Topology parse_topology_graphml(std::string_view text, const std::string& file,
                                const LinkDefaults& defaults) {
  return GraphmlReader(text, file, defaults).read();
}

std::string write_topology_graphml(const Topology& topology) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("graphml");
  root.append_attribute("xmlns") = "http://graphml.graphdrawing.org/xmlns";
  for (const char* name : {"name", "family", "dims"}) add_key(root, "graph", name, "string");
  add_key(root, "node", "rank", "int");
  add_key(root, "node", "kind", "string");
  if (topology.has_abilities()) {
    add_key(root, "node", "adds", "boolean");
    add_key(root, "node", "copies", "boolean");
    add_key(root, "node", "at_once", "int");
  }
  add_key(root, "edge", "bandwidth", "string");
  add_key(root, "edge", "latency", "string");

  pugi::xml_node graph = root.append_child("graph");
  graph.append_attribute("edgedefault") = "directed";
  add_data(graph, "name", topology.name());
  if (topology.shape() != Shape{}) {
    add_data(graph, "family", topology.shape().family);
    add_data(graph, "dims", format_shape_dims(topology.shape()));
  }
  for (const Node& node : topology.nodes()) {
    pugi::xml_node element = graph.append_child("node");
    element.append_attribute("id") = node.name.c_str();
    if (node.rank) add_data(element, "rank", std::to_string(index(*node.rank)));
    if (node.is_switch()) add_data(element, "kind", "switch");
    const auto& [adds, copies, at_once] = node.abilities;
    if (adds) add_data(element, "adds", "true");
    if (copies) add_data(element, "copies", "true");
    if (at_once > 0) add_data(element, "at_once", std::to_string(at_once));
  }
  for (const Link& link : topology.links()) {
    pugi::xml_node element = graph.append_child("edge");
    element.append_attribute("source") = topology.node(link.src).name.c_str();
    element.append_attribute("target") = topology.node(link.dst).name.c_str();
    add_data(element, "bandwidth", to_string(link.bandwidth));
    add_data(element, "latency", to_string(link.latency));
  }
  std::ostringstream out;
  document.save(out, "  ", pugi::format_indent, pugi::encoding_utf8);
  return out.str();
}

}  // namespace multitree
