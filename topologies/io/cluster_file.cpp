// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Files of a cluster.
#include "topologies/io/cluster_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/json_document.hpp"

namespace multitree {
namespace {

using cluster::Cable;
using cluster::Cluster;
using cluster::End;
using nlohmann::ordered_json;

template <typename Parse>
auto quantity(const JsonValue& value, const Parse& parse) {
  try {
    return parse(value.string());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::InvalidInput) throw;
    value.fail(error.what());
  }
}

End read_end(const JsonValue& value, const std::set<std::string>& nodes) {
  value.check_keys({"node", "port", "address", "mbits", "sends", "receives"});
  End end;
  end.node = value.at("node").string();
  if (!nodes.contains(end.node)) {
    value.at("node").fail(fmt::format("there is no host '{}'", end.node));
  }
  end.port = value.at("port").string();
  if (end.port.empty()) value.at("port").fail("the name of the port is empty");
  end.address = value.at("address").string();
  end.mbits = static_cast<std::uint32_t>(
      value.at("mbits").integer(0, std::numeric_limits<std::uint32_t>::max()));
  end.sends = quantity(value.at("sends"), parse_bandwidth);
  end.receives = quantity(value.at("receives"), parse_bandwidth);
  return end;
}

Cable read_cable(const JsonValue& value, const std::set<std::string>& nodes) {
  value.check_keys({"switch", "latency", "ends"});
  Cable cable;
  if (value.has("switch")) cable.switch_name = value.at("switch").string();
  cable.latency = quantity(value.at("latency"), parse_time);
  const JsonValue ends = value.at("ends");
  if (ends.size() < 2) ends.fail("expected two ends of a cable, or more ports at a switch");
  std::set<std::pair<std::string, std::string>> ports;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    cable.ends.push_back(read_end(ends.at(i), nodes));
    if (!ports.emplace(cable.ends.back().node, cable.ends.back().port).second) {
      ends.at(i).fail("the port is repeated");
    }
  }
  return cable;
}

std::string_view host_of_rank(const Topology& network, std::uint32_t rank) {
  return cluster::host_of(network.node(network.node_of(Rank{rank})).name);
}

ordered_json to_json(const End& end) {
  return {{"node", end.node},
          {"port", end.port},
          {"address", end.address},
          {"mbits", end.mbits},
          {"sends", to_string(end.sends)},
          {"receives", to_string(end.receives)}};
}

}  // namespace

bool is_cluster_file(std::string_view text) {
  // The schema is the first member of what we write, as in all of our files.
  return text.substr(0, 200).find(kClusterSchema) != std::string_view::npos;
}

Cluster parse_cluster_json(std::string_view text, const std::string& file) {
  const JsonDocument document(text, file);
  const JsonValue root(document);
  root.check_schema({kClusterSchema});
  root.check_keys({"schema", "topology", "hosts", "cables"});
  Cluster found;
  found.network = parse_topology(root.at("topology"));
  const JsonValue hosts = root.at("hosts"), cables = root.at("cables");
  std::set<std::string> nodes;
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const JsonValue host = hosts.at(i);
    host.check_keys({"node", "hostname", "reach"});
    found.hosts.push_back(
        {host.at("node").string(), host.at("hostname").string(), host.at("reach").string()});
    const std::string& node = found.hosts.back().node;
    if (!nodes.insert(node).second) host.fail(fmt::format("the host '{}' is repeated", node));
    const std::uint32_t before = rank;
    while (rank < found.network->num_ranks() && host_of_rank(*found.network, rank) == node) ++rank;
    if (rank == before)
      host.fail(fmt::format("expected the node of rank {}, got '{}'", rank, node));
  }
  if (rank != found.network->num_ranks()) {
    hosts.fail(fmt::format("expected hosts for {} ranks, got {} of {}", found.network->num_ranks(),
                           hosts.size(), rank));
  }
  for (std::size_t i = 0; i < cables.size(); ++i) {
    found.cables.push_back(read_cable(cables.at(i), nodes));
  }
  return found;
}

std::string write_cluster_json(const Cluster& cluster) {
  std::string network = write_topology_json(*cluster.network);
  network.pop_back();  // the line's end
  std::string text = fmt::format("{{\n\"schema\": \"{}\",\n\"topology\": {},\n\"hosts\": [",
                                 kClusterSchema, network);
  const char* separator = "\n  ";
  for (const cluster::Place& host : cluster.hosts) {
    const ordered_json row{{"node", host.node}, {"hostname", host.hostname}, {"reach", host.reach}};
    text += separator + row.dump();
    separator = ",\n  ";
  }
  text += "\n],\n\"cables\": [";
  separator = "\n  ";
  for (const Cable& cable : cluster.cables) {
    text += separator;
    text += '{';
    if (!cable.switch_name.empty()) {
      text += fmt::format("\"switch\": {}, ", ordered_json(cable.switch_name).dump());
    }
    text += fmt::format("\"latency\": \"{}\", \"ends\": [", to_string(cable.latency));
    const char* comma = "\n    ";
    for (const End& end : cable.ends) {
      text += comma + to_json(end).dump();
      comma = ",\n    ";
    }
    text += "]}";
    separator = ",\n  ";
  }
  return text + (cluster.cables.empty() ? "]\n}\n" : "\n]\n}\n");
}

}  // namespace multitree
