// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is slow, wrong or missing: against the other cables, and against what was expected.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "topologies/cluster/cluster.hpp"
#include "topologies/error.hpp"

namespace multitree::cluster {
namespace {

using Pair = std::pair<std::string, std::string>;

Pair pair_of(std::string a, std::string b) {
  if (b < a) std::swap(a, b);
  return {std::move(a), std::move(b)};
}

std::string words_of(const End& end) { return end.node + " " + end.port; }

std::string rate_words(double bytes_per_second) {
  const double mbits = bytes_per_second * 8e-6;
  return mbits < 1000 ? fmt::format("{:.3g} Mb/s", mbits)
                      : fmt::format("{:.3g} Gb/s", mbits / 1000);
}

/// What an expected network has between hosts, by their names.
struct Expected {
  std::map<Pair, std::uint32_t> cables;
  std::map<Pair, double> rates;  ///< bytes per second, by source and destination
  std::map<std::string, std::uint32_t> at_switches;

  Expected(const Topology& network, const std::vector<Place>& hosts) {
    const auto is_host = [&](const Node& node) {
      return !node.rank || std::ranges::find(hosts, node.name, &Place::node) != hosts.end();
    };
    const bool by_name = std::ranges::all_of(network.nodes(), is_host);
    const auto name_of = [&](const Node& node) {
      return by_name ? node.name : hosts[index(*node.rank)].node;
    };
    for (const Link& link : network.links()) {
      const Node& source = network.node(link.src);
      const Node& destination = network.node(link.dst);
      const auto rate = static_cast<double>(link.bandwidth.bytes_per_second);
      if (source.rank && destination.rank) {
        const Pair way{name_of(source), name_of(destination)};
        if (way.first < way.second) ++cables[way];
        rates[way] = std::max(rates[way], rate);
      } else if (source.rank) {
        ++at_switches[name_of(source)];
      }
    }
  }
};

/// One direction of a cable beside what it should be in proportion to the others.
struct Way {
  const End *from, *to;
  double rate, weight;
};

std::vector<Way> ways_of(const Cluster& cluster, const Expected* expected) {
  std::vector<Way> ways;
  std::set<Pair> seen;
  for (const Cable& cable : cluster.cables) {
    if (cable.ends.size() != 2) continue;
    // Of parallel ones the fastest counts, which is the first.
    if (!seen.insert(pair_of(cable.ends[0].node, cable.ends[1].node)).second) continue;
    for (const std::size_t i : {0, 1}) {
      const End &from = cable.ends[i], &to = cable.ends[1 - i];
      double weight = 1;
      if (expected != nullptr) {
        const auto found = expected->rates.find({from.node, to.node});
        if (found == expected->rates.end()) continue;
        weight = found->second;
      }
      ways.push_back({&from, &to, static_cast<double>(from.sends.bytes_per_second), weight});
    }
  }
  return ways;
}

void find_slow(const Cluster& cluster, const Expected* expected, std::vector<Finding>& findings) {
  const std::vector<Way> ways = ways_of(cluster, expected);
  std::vector<double> ratios;
  for (const Way& way : ways) ratios.push_back(way.rate / way.weight);
  std::ranges::sort(ratios);
  for (const Way& way : ways) {
    const double wanted = ratios[ratios.size() / 2] * way.weight;
    if (way.rate >= kSlow * wanted) continue;
    std::string words = fmt::format(
        "{} > {}: {}, where {} has {}", words_of(*way.from), words_of(*way.to),
        rate_words(way.rate),
        expected == nullptr ? "the middle one of all cables" : "it in proportion to the others",
        rate_words(wanted));
    if (way.from->mbits > 0) words += fmt::format(" (its port says {} Mbit/s)", way.from->mbits);
    findings.push_back({"slow", std::move(words)});
  }
}

/// Cables that are slower than one beside them. They are at fault if their ports are as fast as the
/// other's: somebody may have wanted what others are.
void find_slow_parallels(const Cluster& cluster, std::vector<Finding>& findings) {
  std::map<Pair, const Cable*> fastest;
  for (const Cable& cable : cluster.cables) {
    if (cable.ends.size() != 2) continue;
    const Pair pair = pair_of(cable.ends[0].node, cable.ends[1].node);
    const Cable& best = *fastest.emplace(pair, &cable).first->second;
    for (const std::size_t i : {0, 1}) {
      const End &from = cable.ends[i], &to = cable.ends[1 - i];
      const auto rate = static_cast<double>(from.sends.bytes_per_second);
      const auto other = static_cast<double>(best.ends[i].sends.bytes_per_second);
      if (rate >= kSlow * other) continue;
      findings.push_back(
          {"slow",
           fmt::format("{} > {}: {}, where {} > {}, which is parallel, has {}", words_of(from),
                       words_of(to), rate_words(rate), words_of(best.ends[i]),
                       words_of(best.ends[1 - i]), rate_words(other)),
           from.mbits == best.ends[i].mbits});
    }
  }
}

void find_against(const Cluster& cluster, const Expected& expected,
                  std::vector<Finding>& findings) {
  std::map<Pair, std::vector<const Cable*>> found;
  std::map<std::string, std::uint32_t> at_switches;
  for (const Cable& cable : cluster.cables) {
    if (cable.ends.size() == 2) {
      found[pair_of(cable.ends[0].node, cable.ends[1].node)].push_back(&cable);
    } else {
      for (const End& end : cable.ends) ++at_switches[end.node];
    }
  }
  for (const auto& [pair, count] : expected.cables) {
    const auto have = found.contains(pair) ? found.at(pair).size() : 0;
    if (have >= count) continue;
    findings.push_back({"missing", fmt::format("{} - {}: expected {} cable{}, found {}", pair.first,
                                               pair.second, count, count == 1 ? "" : "s", have)});
  }
  for (const auto& [pair, cables] : found) {
    const auto wanted = expected.cables.find(pair);
    const std::size_t count = wanted == expected.cables.end() ? 0 : wanted->second;
    for (std::size_t i = count; i < cables.size(); ++i) {
      findings.push_back(
          {"wrong", fmt::format("{} - {}: a cable that is not expected there",
                                words_of(cables[i]->ends[0]), words_of(cables[i]->ends[1]))});
    }
  }
  for (const auto& [node, count] : expected.at_switches) {
    if (at_switches[node] >= count) continue;
    findings.push_back({"missing", fmt::format("{}: expected {} port{} at switches, found {}", node,
                                               count, count == 1 ? "" : "s", at_switches[node])});
  }
}

/// Two hosts that have one cable less than all others: one between them, most likely.
void find_missing(const Cluster& cluster, std::vector<Finding>& findings) {
  std::map<std::string, std::uint32_t> degrees;
  for (const Place& host : cluster.hosts) degrees[host.node] = 0;
  for (const Cable& cable : cluster.cables) {
    if (cable.ends.size() != 2) continue;
    for (const End& end : cable.ends) ++degrees[end.node];
  }
  std::map<std::uint32_t, std::vector<std::string>> hosts_of;
  for (const Place& host : cluster.hosts) hosts_of[degrees[host.node]].push_back(host.node);
  if (hosts_of.size() != 2) return;
  const auto& [fewer, few] = *hosts_of.begin();
  const auto& [more, many] = *hosts_of.rbegin();
  if (fewer + 1 != more || few.size() != 2 || (many.size() < 2 && fewer > 1)) return;
  if (cluster.hosts.size() < 3) return;
  findings.push_back({"missing", fmt::format("{} - {}: both have {} where all others have {}: a "
                                             "cable between them is missing, or has no carrier",
                                             few[0], few[1], fewer, more)});
}

std::string words_of(PortId id, const std::vector<Host>& hosts,
                     const std::vector<std::string>& names) {
  return names[id.host] + " " + hosts[id.host].ports[id.port].name;
}

/// Two hosts that a cable joins, and no others, have ports that nothing is connected to: ends of a
/// further cable, most likely.
void find_down(const std::vector<Host>& hosts, const std::vector<std::string>& names,
               const std::set<Pair>& joined, std::vector<Finding>& findings) {
  std::map<std::string, std::string> idle;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    for (const Port& port : hosts[i].ports) {
      if (port.state == "up") continue;
      std::string& words = idle[names[i]];
      words +=
          fmt::format("{}{} {} ({})", words.empty() ? "" : ", ", names[i], port.name, port.state);
    }
  }
  if (idle.size() != 2) return;
  const auto &one = *idle.begin(), &other = *idle.rbegin();
  if (!joined.contains(pair_of(one.first, other.first))) return;
  findings.push_back(
      {"down",
       fmt::format("{} - {}: a further cable between the two may be down: plug it in, "
                   "or set the ports up",
                   one.second, other.second),
       false});
}

void find_odd(const std::vector<Host>& hosts, const Inferred& inferred, const Cluster& cluster,
              std::vector<Finding>& findings) {
  const std::vector<std::string> names = node_names(hosts);
  for (const Hearing& one : inferred.one_way) {
    findings.push_back({"one-way", fmt::format("{} hears {} and is not heard by it: no cable that "
                                               "can be used",
                                               words_of(one.listener, hosts, names),
                                               words_of(one.speaker, hosts, names))});
  }
  for (const Segment& loop : inferred.loops) {
    findings.push_back({"wrong", fmt::format("{} and {}: a cable from the host to itself",
                                             words_of(loop.ends.front(), hosts, names),
                                             words_of(loop.ends.back(), hosts, names))});
  }
  for (const Segment& cable : inferred.segments) {
    if (!appears_twice(hosts, inferred.segments, cable)) continue;
    findings.push_back({"twice",
                        fmt::format("{} - {}: a cable that is there already by another name, as "
                                    "VLANs are; it is left out",
                                    words_of(cable.ends.front(), hosts, names),
                                    words_of(cable.ends.back(), hosts, names)),
                        false});
  }
  std::set<Pair> joined;
  std::set<std::string> heard;
  for (const Cable& cable : cluster.cables) {
    for (const End& end : cable.ends) heard.insert(end.node);
    if (cable.ends.size() != 2) continue;
    const auto &a = cable.ends[0], &b = cable.ends[1];
    if (joined.insert(pair_of(a.node, b.node)).second) continue;
    findings.push_back({"parallel",
                        fmt::format("{} - {}: a further cable between the two; messages over TCP "
                                    "are shared among them by their rates",
                                    words_of(a), words_of(b)),
                        false});
  }
  find_down(hosts, names, joined, findings);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (heard.contains(names[i])) continue;
    std::vector<std::string> ports;
    for (const Port& port : hosts[i].ports) ports.push_back(port.name + " " + port.state);
    findings.push_back(
        {"alone", fmt::format("{} hears no other host; its ports: {}", names[i],
                              ports.empty() ? "none" : fmt::format("{}", fmt::join(ports, ", ")))});
  }
}

}  // namespace

std::vector<Finding> judge(const std::vector<Host>& hosts, const Inferred& inferred,
                           const Cluster& cluster, const Topology* expected) {
  if (expected != nullptr && expected->num_ranks() != hosts.size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a network of {} ranks, one for each host, got {} with {}",
                            hosts.size(), expected->name(), expected->num_ranks()));
  }
  std::optional<Expected> wanted;
  if (expected != nullptr) wanted.emplace(*expected, cluster.hosts);
  std::vector<Finding> findings;
  find_odd(hosts, inferred, cluster, findings);
  if (wanted) {
    find_against(cluster, *wanted, findings);
  } else {
    find_missing(cluster, findings);
  }
  find_slow(cluster, wanted ? &*wanted : nullptr, findings);
  find_slow_parallels(cluster, findings);
  return findings;
}

}  // namespace multitree::cluster
