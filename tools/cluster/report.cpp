// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables of cables.
#include "tools/cluster/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/design/improve.hpp"
#include "tools/command.hpp"

namespace multitree::tools {
namespace {

using cluster::Cable;
using cluster::End;
using nlohmann::ordered_json;

/// Certificates of larger networks take longer than anybody waits for advice.
constexpr std::uint32_t kMostRanks = 64;

std::string rate_text(Bandwidth rate) {
  return fmt::format("{:.1f}", static_cast<double>(rate.bytes_per_second) * 8e-6);
}

std::string latency_text(Time latency) {
  return fmt::format("{:.1f}", static_cast<double>(latency.picoseconds) * 1e-6);
}

}  // namespace

std::optional<Advice> advise(const Topology& network) {
  if (network.num_ranks() < 3 || network.num_ranks() > kMostRanks) return std::nullopt;
  const Improvements found = improve_by_cable(network, Collective::AllReduce);
  if (found.cables.empty()) return std::nullopt;
  const Improvement& best = found.cables.front();
  return Advice{network.node(network.node_of(best.first)).name,
                network.node(network.node_of(best.second)).name, found.bandwidth,
                Exact(best.bound / found.before).convert_to<double>()};
}

std::string cables_text(const cluster::Cluster& cluster) {
  std::vector<std::vector<std::string>> rows{
      {"from", "to", "Mb/s there", "Mb/s back", "latency (us)"}};
  for (const Cable& cable : cluster.cables) {
    if (cable.ends.size() == 2) {
      const End &a = cable.ends[0], &b = cable.ends[1];
      rows.push_back({a.node + " " + a.port, b.node + " " + b.port, rate_text(a.sends),
                      rate_text(b.sends), latency_text(cable.latency)});
      continue;
    }
    for (const End& end : cable.ends) {
      rows.push_back({end.node + " " + end.port,
                      cable.switch_name.empty() ? "a switch" : cable.switch_name,
                      rate_text(end.sends), rate_text(end.receives), latency_text(cable.latency)});
    }
  }
  return rows.size() > 1 ? format_table(rows) : "# no cables\n";
}

ordered_json cluster_json(const cluster::Cluster& cluster) {
  ordered_json hosts = ordered_json::array(), cables = hosts;
  for (const cluster::Place& host : cluster.hosts) {
    hosts.push_back({{"node", host.node}, {"hostname", host.hostname}, {"reach", host.reach}});
  }
  for (const Cable& cable : cluster.cables) {
    ordered_json ends = ordered_json::array();
    for (const End& end : cable.ends) {
      ends.push_back({{"node", end.node},
                      {"port", end.port},
                      {"address", end.address},
                      {"sends", to_string(end.sends)},
                      {"receives", to_string(end.receives)}});
    }
    cables.push_back({{"switch", cable.switch_name.empty() ? ordered_json(nullptr)
                                                           : ordered_json(cable.switch_name)},
                      {"latency", to_string(cable.latency)},
                      {"ends", ends}});
  }
  const bool whole = cluster.network.has_value();
  return {{"hosts", hosts},
          {"cables", cables},
          {"links", whole ? ordered_json(cluster.network->num_links()) : ordered_json(nullptr)}};
}

ordered_json findings_json(const std::vector<cluster::Finding>& findings) {
  ordered_json rows = ordered_json::array();
  for (const cluster::Finding& one : findings) {
    rows.push_back({{"kind", one.kind}, {"what", one.words}, {"fault", one.fault}});
  }
  return rows;
}

ordered_json advice_json(const std::optional<Advice>& advice) {
  if (!advice) return nullptr;
  return {{"between", {advice->first, advice->second}},
          {"bandwidth", to_string(advice->bandwidth)},
          {"share_of_time", advice->share}};
}

}  // namespace multitree::tools
