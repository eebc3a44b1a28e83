// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Measured times: their file (docs/file-formats.md), and the network that has them.
#include "algorithms/tuning/link_table.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <utility>

#include "topologies/error.hpp"
#include "topologies/io/json_document.hpp"

namespace multitree {
namespace {

constexpr std::string_view kSchema = "multitree/link-table/1";
constexpr Time kLongest{1'000'000'000'000};

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// A quantity with its unit; what is wrong with it is said with file and line.
template <typename Parse>
auto quantity(const JsonValue& value, const Parse& parse) {
  try {
    return parse(value.string());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::InvalidArgument) throw;
    value.fail(error.what());
  }
}

Time parse_latency(const JsonValue& value) {
  const Time time = quantity(value, [](const std::string& text) { return parse_time(text); });
  if (time > kLongest) {
    value.fail(fmt::format("expected a time of at most 1s, got {}", to_string(time)));
  }
  return time;
}

}  // namespace

Topology with_times(const Topology& topology, const LinkTable& table) {
  std::map<std::pair<std::string_view, std::string_view>, const LinkTable::Entry*> by_name;
  for (const LinkTable::Entry& entry : table.links) by_name[{entry.from, entry.to}] = &entry;
  TopologyBuilder builder(topology.name());
  for (const Node& node : topology.nodes()) {
    node.rank ? builder.add_endpoint(node.name, *node.rank) : builder.add_switch(node.name);
  }
  for (const Link& link : topology.links()) {
    const std::string& from = topology.node(link.src).name;
    const std::string& to = topology.node(link.dst).name;
    const auto found = by_name.find({from, to});
    if (found == by_name.end()) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("link table of {}: expected the link {}->{} of {}, found none",
                              table.topology, from, to, topology.name()));
    }
    builder.add_link(link.src, link.dst, found->second->bandwidth, found->second->latency);
  }
  builder.set_shape(topology.shape());
  return std::move(builder).build();
}

std::string write_link_table_json(const LinkTable& table) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(
      to, "{{\n\"schema\":\"{}\",\n\"topology\":{},\n\"message_overhead\":\"{}\",\n\"links\":[",
      kSchema, quoted(table.topology), to_string(table.message_overhead));
  for (std::size_t i = 0; i < table.links.size(); ++i) {
    const LinkTable::Entry& entry = table.links[i];
    fmt::format_to(to, "{}{{\"src\":{},\"dst\":{},\"bandwidth\":\"{}\",\"latency\":\"{}\"}}",
                   i == 0 ? "\n" : ",\n", quoted(entry.from), quoted(entry.to),
                   to_string(entry.bandwidth), to_string(entry.latency));
  }
  fmt::format_to(to, "]\n}}\n");
  return fmt::to_string(out);
}

LinkTable parse_link_table_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_keys({"schema", "topology", "message_overhead", "links"});
  const JsonValue schema = root.at("schema");
  if (schema.string() != kSchema) {
    schema.fail(fmt::format("expected the schema '{}', got '{}'", kSchema, schema.string()));
  }
  LinkTable table;
  table.topology = root.at("topology").string();
  table.message_overhead = parse_latency(root.at("message_overhead"));
  const JsonValue links = root.at("links");
  for (std::size_t i = 0; i < links.size(); ++i) {
    const JsonValue link = links.at(i);
    link.check_keys({"src", "dst", "bandwidth", "latency"});
    table.links.push_back(
        {link.at("src").string(), link.at("dst").string(), parse_latency(link.at("latency")),
         quantity(link.at("bandwidth"),
                  [](const std::string& value) { return parse_bandwidth(value); })});
  }
  return table;
}

}  // namespace multitree
