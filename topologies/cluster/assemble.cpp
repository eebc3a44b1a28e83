// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From cables that were measured to a network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "topologies/cluster/cluster.hpp"

namespace multitree::cluster {
namespace {

/// Digits of a rate that measuring it again would give again.
constexpr double kDigits = 100;

Bandwidth rounded(Bandwidth rate) {
  const auto value = static_cast<double>(rate.bytes_per_second);
  const double unit = std::max(1.0, std::pow(10, std::floor(std::log10(value / kDigits))));
  return {static_cast<std::uint64_t>(std::llround(std::round(value / unit) * unit))};
}

/// Rates in groups that are not further apart than kLevel, each of which becomes its median.
class Levels {
 public:
  explicit Levels(std::vector<Bandwidth> rates) {
    std::ranges::sort(rates);
    for (auto begin = rates.begin(); begin != rates.end();) {
      const double most = static_cast<double>(begin->bytes_per_second) * (1 + kLevel);
      const auto end = std::find_if(begin, rates.end(), [&](Bandwidth rate) {
        return static_cast<double>(rate.bytes_per_second) > most;
      });
      const Bandwidth level = rounded(begin[(end - begin) / 2]);
      for (; begin != end; ++begin) level_of_[*begin] = level;
    }
  }
  [[nodiscard]] Bandwidth of(Bandwidth rate) const { return level_of_.at(rate); }

 private:
  std::map<Bandwidth, Bandwidth> level_of_;
};

Cable cable_of(const Segment& segment, const std::vector<Host>& hosts,
               const std::vector<std::string>& names, const std::vector<Flow>& flows) {
  Cable cable;
  std::vector<Time> latencies;
  for (const PortId id : segment.ends) {
    const Port& port = hosts[id.host].ports[id.port];
    End end{names[id.host], port.name, port.address, port.mbits, {}, {}};
    // At a switch an end is as fast as the fastest that it was tried with lets it be.
    for (const Flow& flow : flows) {
      if (flow.from == id) end.sends = std::max(end.sends, flow.rate);
      if (flow.to == id) end.receives = std::max(end.receives, flow.rate);
      if (flow.from == id) latencies.push_back(flow.latency);
    }
    cable.ends.push_back(std::move(end));
  }
  std::ranges::sort(latencies);
  if (!latencies.empty()) cable.latency = latencies[latencies.size() / 2];
  return cable;
}

Bandwidth slower_way(const Cable& cable) {
  Bandwidth least = cable.ends.front().sends;
  for (const End& end : cable.ends) least = std::min({least, end.sends, end.receives});
  return least;
}

bool is_measured(const End& end) {
  return end.sends.bytes_per_second > 0 && end.receives.bytes_per_second > 0;
}

/// Numbers of the cables that the network has without switches.
std::vector<std::size_t> direct_cables(const std::vector<Cable>& cables) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < cables.size(); ++i) {
    if (cables[i].ends.size() == 2) chosen.push_back(i);
  }
  return chosen;
}

/// Parallel cables as one: as fast as all of them together, as messages are shared among them, and
/// with the latency of the fastest, which short ones take. Switches as they are.
std::vector<Cable> without_parallels(const std::vector<Cable>& cables,
                                     const std::vector<std::size_t>& chosen) {
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  std::vector<Cable> joined;
  for (const std::size_t i : chosen) {
    const Cable& cable = cables[i];
    const auto [place, fresh] =
        cable.switch_name.empty()
            ? places.emplace(std::pair(cable.ends[0].node, cable.ends[1].node), joined.size())
            : std::pair(places.end(), true);
    if (fresh) {
      joined.push_back(cable);
      continue;
    }
    for (const std::size_t end : {0, 1}) {
      End& sum = joined[place->second].ends[end];
      sum.sends.bytes_per_second += cable.ends[end].sends.bytes_per_second;
      sum.receives.bytes_per_second += cable.ends[end].receives.bytes_per_second;
    }
  }
  return joined;
}

/// Numbers of the switches, the fastest first.
std::vector<std::size_t> switches_by_rate(const std::vector<Cable>& cables) {
  std::vector<std::size_t> switches;
  for (std::size_t i = 0; i < cables.size(); ++i) {
    if (cables[i].ends.size() > 2) switches.push_back(i);
  }
  std::ranges::stable_sort(switches, [&](std::size_t a, std::size_t b) {
    return slower_way(cables[a]) > slower_way(cables[b]);
  });
  return switches;
}

/// For a switch: one that neither a host nor another switch has.
std::string free_name(const std::map<std::string, std::size_t>& hosts,
                      const std::vector<Cable>& cables) {
  for (std::size_t number = 0;; ++number) {
    std::string name = fmt::format("switch{}", number);
    const bool taken = hosts.contains(name) ||
                       std::ranges::find(cables, name, &Cable::switch_name) != cables.end();
    if (!taken) return name;
  }
}

bool joins_all(const std::vector<std::string>& names, const std::vector<Cable>& cables,
               const std::vector<std::size_t>& chosen) {
  std::set<std::string> reached{names.front()};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const std::size_t i : chosen) {
      const auto& ends = cables[i].ends;
      const bool any =
          std::ranges::any_of(ends, [&](const End& end) { return reached.contains(end.node); });
      for (const End& end : ends) {
        if (any) reached.insert(end.node);
      }
    }
  }
  return reached.size() == names.size();
}

Topology network_of(const std::vector<std::string>& names, const std::vector<Cable>& cables,
                    const std::vector<std::size_t>& chosen) {
  const std::vector<Cable> joined = without_parallels(cables, chosen);
  std::vector<Bandwidth> rates;
  for (const Cable& cable : joined) {
    for (const End& end : cable.ends) rates.insert(rates.end(), {end.sends, end.receives});
  }
  const Levels levels(rates);
  TopologyBuilder builder(fmt::format("cluster of {} hosts", names.size()));
  std::map<std::string, NodeId> node_of;
  for (const std::string& name : names) node_of[name] = builder.add_endpoint(name);
  for (const Cable& cable : joined) {
    if (cable.switch_name.empty()) {
      const NodeId a = node_of[cable.ends[0].node], b = node_of[cable.ends[1].node];
      builder.add_link(a, b, levels.of(cable.ends[0].sends), cable.latency);
      builder.add_link(b, a, levels.of(cable.ends[1].sends), cable.latency);
      continue;
    }
    const NodeId hub = builder.add_switch(cable.switch_name);
    const Time half{cable.latency.picoseconds / 2};
    std::set<std::string> met;
    for (const End& end : cable.ends) {
      if (!met.insert(end.node).second) continue;
      builder.add_link(node_of[end.node], hub, levels.of(end.sends), half);
      builder.add_link(hub, node_of[end.node], levels.of(end.receives), half);
    }
  }
  return std::move(builder).build();
}

}  // namespace

Cluster assemble(const std::vector<Host>& hosts, const std::vector<Segment>& segments,
                 const std::vector<Flow>& flows) {
  const std::vector<std::string> names = node_names(hosts);
  Cluster cluster;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    cluster.hosts.push_back({names[i], hosts[i].hostname, hosts[i].reach});
  }
  for (const Segment& segment : segments) {
    if (appears_twice(hosts, segments, segment)) continue;
    Cable cable = cable_of(segment, hosts, names, flows);
    std::erase_if(cable.ends, [](const End& end) { return !is_measured(end); });
    if (cable.ends.size() >= 2) cluster.cables.push_back(std::move(cable));
  }
  std::map<std::string, std::size_t> rank_of;
  for (const std::string& name : names) rank_of.emplace(name, rank_of.size());
  const auto hosts_of = [&](const Cable& cable) {
    std::vector<std::size_t> ranks;
    for (const End& end : cable.ends) ranks.push_back(rank_of[end.node]);
    return std::pair(cable.ends.size() > 2, ranks);
  };
  std::ranges::stable_sort(cluster.cables, [&](const Cable& a, const Cable& b) {
    const auto first = hosts_of(a), second = hosts_of(b);
    return first != second ? first < second : slower_way(a) > slower_way(b);
  });
  std::vector<std::size_t> chosen = direct_cables(cluster.cables);
  for (const std::size_t i : switches_by_rate(cluster.cables)) {
    if (joins_all(names, cluster.cables, chosen)) break;
    cluster.cables[i].switch_name = free_name(rank_of, cluster.cables);
    chosen.push_back(i);
  }
  if (joins_all(names, cluster.cables, chosen)) {
    cluster.network = network_of(names, cluster.cables, chosen);
  }
  return cluster;
}

}  // namespace multitree::cluster
