// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The native topology file, schema "multitree/topology/1".
#include <fmt/format.h>

#include <limits>
#include <unordered_map>
#include <utility>

#include "topologies/families.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/json_document.hpp"
#include "topologies/io/raw_network_internal.hpp"

namespace multitree {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "multitree/topology/1";
constexpr std::uint32_t kAnyNumber = std::numeric_limits<std::uint32_t>::max();

using NodesByName = std::unordered_map<std::string, NodeId>;

Shape read_shape(const JsonValue& value) {
  value.check_keys({"family", "dims"});
  Shape shape{value.at("family").string(), {}};
  const JsonValue dims = value.at("dims");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    shape.dims.push_back(static_cast<std::uint32_t>(dims.at(i).integer(0, kAnyNumber)));
  }
  return shape;
}

SwitchAbilities read_abilities(const JsonValue& node) {
  SwitchAbilities abilities;
  if (node.has("adds")) abilities.adds = node.at("adds").boolean();
  if (node.has("copies")) abilities.copies = node.at("copies").boolean();
  if (node.has("at_once")) {
    abilities.at_once = static_cast<std::uint32_t>(node.at("at_once").integer(1, kAnyNumber));
  }
  return abilities;
}

NodesByName read_nodes(const JsonValue& value, std::vector<RawNode>& nodes) {
  NodesByName by_name;
  const std::vector<std::string> keys{"id", "rank", "adds", "copies", "at_once"};
  const std::size_t count = value.size();
  for (std::size_t i = 0; i < count; ++i) {
    const JsonValue node = value.at(i);
    node.check_keys(keys);
    RawNode raw{node.at("id").string(), std::nullopt, false};
    if (node.has("rank")) {
      raw.rank = static_cast<std::uint32_t>(node.at("rank").integer(0, Spec::kMaxRanks - 1));
    }
    raw.is_switch = !raw.rank;
    raw.abilities = read_abilities(node);
    if (raw.name.empty()) node.fail("the name is empty");
    if (!by_name.emplace(raw.name, NodeId{static_cast<std::uint32_t>(i)}).second) {
      node.fail(fmt::format("the node '{}' is repeated", raw.name));
    }
    nodes.push_back(std::move(raw));
  }
  return by_name;
}

// Parses a quantity, or reuses the last result: neighbouring links mostly have the same.
template <class Value>
class CachedParser {
 public:
  explicit CachedParser(Value (*parse)(std::string_view)) : parse_(parse) {}
  Value operator()(const JsonValue& value) {
    std::string text = value.string();
    if (text == text_) return value_;
    try {
      value_ = parse_(text);
    } catch (const Error& error) {
      value.fail(error.what());
    }
    text_ = std::move(text);
    return value_;
  }

 private:
  Value (*parse_)(std::string_view);
  std::string text_;
  Value value_;
};

NodeId find_node(const NodesByName& nodes, const JsonValue& name) {
  const auto found = nodes.find(name.string());
  if (found == nodes.end()) name.fail(fmt::format("there is no node '{}'", name.string()));
  return found->second;
}

// Expands counts; `elements` gets the array element of each link.
void read_links(const JsonValue& value, const NodesByName& nodes, std::vector<Link>& links,
                std::vector<std::uint32_t>& elements) {
  CachedParser<Bandwidth> bandwidth(parse_bandwidth);
  CachedParser<Time> latency(parse_time);
  const std::vector<std::string> keys{"src", "dst", "bandwidth", "latency", "count"};
  const std::size_t size = value.size();
  for (std::size_t i = 0; i < size; ++i) {
    const JsonValue link = value.at(i);
    link.check_keys(keys);
    const Link read{find_node(nodes, link.at("src")), find_node(nodes, link.at("dst")),
                    bandwidth(link.at("bandwidth")), latency(link.at("latency"))};
    const std::uint64_t count = link.has("count") ? link.at("count").integer(1, kMaxLinks) : 1;
    if (links.size() + count > kMaxLinks) {
      link.fail(fmt::format("a topology has at most {} links", kMaxLinks));
    }
    links.insert(links.end(), count, read);
    elements.insert(elements.end(), count, static_cast<std::uint32_t>(i));
  }
}

}  // namespace

Topology parse_topology(const JsonValue& value) {
  value.check_schema({kSchema});
  value.check_keys({"schema", "name", "shape", "nodes", "links"});
  RawNetwork network;
  network.name = value.at("name").string();
  if (value.has("shape")) network.shape = read_shape(value.at("shape"));
  const JsonValue nodes = value.at("nodes"), links = value.at("links");
  std::vector<std::uint32_t> elements;
  read_links(links, read_nodes(nodes, network.nodes), network.links, elements);
  return build_topology(std::move(network), [&](TopologyPart part, std::size_t i, auto& what) {
    if (part == TopologyPart::Whole) value.fail(what);
    (part == TopologyPart::Node ? nodes.at(i) : links.at(elements[i])).fail(what);
  });
}

Topology parse_topology_json(std::string_view text, const std::string& file) {
  if (is_cluster_file(text)) return *parse_cluster_json(text, file).network;
  const JsonDocument document(text, file);
  return parse_topology(JsonValue(document));
}

nlohmann::ordered_json topology_to_json(const Topology& topology) {
  using nlohmann::ordered_json;
  ordered_json result{{"schema", kSchema}, {"name", topology.name()}};
  if (topology.shape() != Shape{}) {
    result["shape"] = {{"family", topology.shape().family}, {"dims", topology.shape().dims}};
  }
  ordered_json nodes = ordered_json::array();
  for (const Node& node : topology.nodes()) {
    ordered_json& entry = nodes.emplace_back(ordered_json{{"id", node.name}});
    if (node.rank) entry["rank"] = index(*node.rank);
    if (node.abilities.adds) entry["adds"] = true;
    if (node.abilities.copies) entry["copies"] = true;
    if (node.abilities.at_once > 0) entry["at_once"] = node.abilities.at_once;
  }
  ordered_json links = ordered_json::array();
  for (std::uint32_t id = 0; id < topology.num_links();) {
    const Link& link = topology.link(LinkId{id});
    std::uint32_t count = 1;
    while (id + count < topology.num_links() && topology.link(LinkId{id + count}) == link) ++count;
    ordered_json& entry = links.emplace_back(ordered_json{{"src", topology.node(link.src).name},
                                                          {"dst", topology.node(link.dst).name},
                                                          {"bandwidth", to_string(link.bandwidth)},
                                                          {"latency", to_string(link.latency)}});
    if (count > 1) entry["count"] = count;
    id += count;
  }
  result["nodes"] = std::move(nodes);
  result["links"] = std::move(links);
  return result;
}

std::string write_topology_json(const Topology& topology) {
  const nlohmann::ordered_json root = topology_to_json(topology);
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [key, value] : root.items()) {
    text += fmt::format("{}  \"{}\": ", separator, key);
    separator = ",\n";
    if (key != "nodes" && key != "links") {
      text += value.dump();
      continue;
    }
    // One element a line: readable, and a line number says which.
    text += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      text += i == 0 ? "\n    " : ",\n    ";
      text += value[i].dump();
    }
    text += value.empty() ? "]" : "\n  ]";
  }
  return text + "\n}\n";
}

}  // namespace multitree
