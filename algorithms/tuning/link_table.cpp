// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Measured times: their file (docs/file-formats.md), and the network that has them.
#include "algorithms/tuning/link_table.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "algorithms/schemas.hpp"
#include "topologies/error.hpp"
#include "topologies/io/json_document.hpp"
#include "topologies/units.hpp"

namespace multitree {
namespace {

constexpr Time kLongest{1'000'000'000'000};
/// Of most calls; it matters only where a vector has fewer elements than there are chunks.
constexpr std::uint32_t kElementBytes = 4;

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

Bandwidth parse_rate(const JsonValue& value) {
  return quantity(value, [](const std::string& text) { return parse_bandwidth(text); });
}

std::uint64_t parse_size(const JsonValue& value) {
  return quantity(value, [](const std::string& text) { return parse_bytes(text); });
}

/// One for each collective and size.
std::vector<LinkTable::Choice> parse_choices(const JsonValue& list) {
  std::vector<LinkTable::Choice> choices;
  std::set<std::pair<Collective, std::uint64_t>> known;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonValue entry = list.at(i);
    entry.check_keys({"collective", "bytes", "algorithm"});
    const Collective collective = quantity(
        entry.at("collective"), [](const std::string& name) { return parse_collective(name); });
    const std::uint64_t bytes =
        entry.at("bytes").integer(0, std::numeric_limits<std::uint64_t>::max());
    if (!known.insert({collective, bytes}).second) {
      entry.fail(fmt::format("expected each collective and size once, got {} of {} bytes again",
                             to_string(collective), bytes));
    }
    choices.push_back({collective, bytes, entry.at("algorithm").string()});
  }
  return choices;
}

/// A node is on one host.
std::vector<LinkTable::Host> parse_hosts(const JsonValue& list) {
  std::vector<LinkTable::Host> hosts;
  std::set<std::string> known;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonValue entry = list.at(i);
    entry.check_keys({"nodes", "message", "bandwidth", "awake"});
    const JsonValue nodes = entry.at("nodes");
    LinkTable::Host host{{}, parse_latency(entry.at("message"))};
    if (entry.has("awake")) {
      host.awake = static_cast<std::uint32_t>(entry.at("awake").integer(0, 100));
    }
    if (entry.has("bandwidth")) host.bandwidth = parse_rate(entry.at("bandwidth"));
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      host.nodes.push_back(nodes.at(n).string());
      if (known.insert(host.nodes.back()).second) continue;
      nodes.at(n).fail(
          fmt::format("expected each node on one host, got '{}' again", host.nodes.back()));
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace

Topology with_times(const Topology& topology, const LinkTable& table) {
  std::map<std::pair<std::string_view, std::string_view>, const LinkTable::Entry*> by_name;
  for (const LinkTable::Entry& entry : table.links) by_name[{entry.from, entry.to}] = &entry;
  TopologyBuilder builder(topology.name());
  for (const Node& node : topology.nodes()) {
    builder.add_node(node);
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

void slow_down(LinkTable& table, const Topology& topology, std::span<const SlowLink> links) {
  const auto name_of = [&](std::uint32_t rank) -> const std::string& {
    return topology.node(topology.node_of(Rank{rank})).name;
  };
  for (const auto& [ends, percent] : links) {
    for (LinkTable::Entry& entry : table.links) {
      const bool there = entry.from == name_of(ends.a) && entry.to == name_of(ends.b);
      const bool back = entry.from == name_of(ends.b) && entry.to == name_of(ends.a);
      if (!there && !back) continue;
      std::uint64_t& rate = entry.bandwidth.bytes_per_second;
      rate = std::max<std::uint64_t>(1, rate / 100 * percent + rate % 100 * percent / 100);
    }
  }
}

CostModel cost_model(const Topology& topology, const LinkTable& table) {
  std::map<std::string_view, Rank> ranks;
  for (const Node& node : topology.nodes()) {
    if (node.rank) ranks.emplace(node.name, *node.rank);
  }
  CostModel model{table.message_overhead};
  model.message_latency = table.message_latency;
  model.together_percent = table.together;
  model.segment_bytes = table.segment_bytes;
  model.burst_bytes = table.burst_bytes;
  model.port_loss = kPortLoss;
  model.pooled = true;
  model.element_bytes = kElementBytes;
  for (const LinkTable::Host& host : table.hosts) {
    SharedHost shared{{}, host.message, host.bandwidth, host.awake};
    for (const std::string& node : host.nodes) {
      if (const auto it = ranks.find(node); it != ranks.end()) shared.ranks.push_back(it->second);
    }
    model.hosts.push_back(std::move(shared));
  }
  return model;
}

std::string write_link_table_json(const LinkTable& table) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{{\n\"schema\":\"{}\",\n\"topology\":{},\n\"message_overhead\":\"{}\",\n",
                 kLinkTableSchema.name, quoted(table.topology), to_string(table.message_overhead));
  if (table.message_latency != Time{}) {
    fmt::format_to(to, "\"message_latency\":\"{}\",\n", to_string(table.message_latency));
  }
  if (table.together != 100) fmt::format_to(to, "\"together\":{},\n", table.together);
  fmt::format_to(to, "\"links\":[");
  for (std::size_t i = 0; i < table.links.size(); ++i) {
    const LinkTable::Entry& entry = table.links[i];
    fmt::format_to(to, "{}{{\"src\":{},\"dst\":{},\"bandwidth\":\"{}\",\"latency\":\"{}\"}}",
                   i == 0 ? "\n" : ",\n", quoted(entry.from), quoted(entry.to),
                   to_string(entry.bandwidth), to_string(entry.latency));
  }
  fmt::format_to(to, "]");
  for (std::size_t i = 0; i < table.hosts.size(); ++i) {
    const LinkTable::Host& host = table.hosts[i];
    fmt::format_to(to, "{}{{\"nodes\":{},\"message\":\"{}\"", i == 0 ? ",\n\"hosts\":[\n" : ",\n",
                   nlohmann::json(host.nodes).dump(), to_string(host.message));
    if (host.bandwidth.bytes_per_second != 0) {
      fmt::format_to(to, ",\"bandwidth\":\"{}\"", to_string(host.bandwidth));
    }
    if (host.awake != 100) fmt::format_to(to, ",\"awake\":{}", host.awake);
    fmt::format_to(to, "}}");
  }
  fmt::format_to(to, "{}", table.hosts.empty() ? "" : "]");
  for (const auto& [key, bytes] :
       {std::pair("segment", table.segment_bytes), std::pair("burst", table.burst_bytes)}) {
    if (bytes != 0) fmt::format_to(to, ",\n\"{}\":\"{}\"", key, format_bytes(bytes));
  }
  for (std::size_t i = 0; i < table.choices.size(); ++i) {
    const LinkTable::Choice& choice = table.choices[i];
    fmt::format_to(to, "{}{{\"collective\":\"{}\",\"bytes\":{},\"algorithm\":{}}}",
                   i == 0 ? ",\n\"choices\":[\n" : ",\n", to_string(choice.collective),
                   choice.bytes, quoted(choice.spec));
  }
  fmt::format_to(to, "{}\n}}\n", table.choices.empty() ? "" : "]");
  return fmt::to_string(out);
}

LinkTable parse_link_table_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_keys({"schema", "topology", "message_overhead", "message_latency", "together", "links",
                   "hosts", "segment", "burst", "choices"});
  root.check_schema({kLinkTableSchema.name});
  LinkTable table;
  table.topology = root.at("topology").string();
  table.message_overhead = parse_latency(root.at("message_overhead"));
  if (root.has("message_latency")) {
    table.message_latency = parse_latency(root.at("message_latency"));
  }
  if (root.has("together")) {
    table.together = static_cast<std::uint32_t>(root.at("together").integer(0, 100));
  }
  const JsonValue links = root.at("links");
  for (std::size_t i = 0; i < links.size(); ++i) {
    const JsonValue link = links.at(i);
    link.check_keys({"src", "dst", "bandwidth", "latency"});
    table.links.push_back({link.at("src").string(), link.at("dst").string(),
                           parse_latency(link.at("latency")), parse_rate(link.at("bandwidth"))});
  }
  if (root.has("hosts")) table.hosts = parse_hosts(root.at("hosts"));
  if (root.has("segment")) table.segment_bytes = parse_size(root.at("segment"));
  if (root.has("burst")) table.burst_bytes = parse_size(root.at("burst"));
  if (root.has("choices")) table.choices = parse_choices(root.at("choices"));
  return table;
}

}  // namespace multitree
