// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From times of messages to times of links.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "runtime/link_measurement.hpp"

namespace multitree::runtime {
namespace {

constexpr double kMostBandwidth = 1e15;  // bytes a second: no time could be seen
constexpr double kMostLatency = 1e9;     // ns, the most that a network may have

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Ranks that a switch has links to and from, ascending.
std::vector<std::uint32_t> ranks_at(const Topology& topology, NodeId node) {
  std::set<std::uint32_t> to, both;
  for (const LinkId id : topology.out_links(node)) {
    if (const auto rank = topology.node(topology.link(id).dst).rank) to.insert(index(*rank));
  }
  for (const LinkId id : topology.in_links(node)) {
    const auto rank = topology.node(topology.link(id).src).rank;
    if (rank && to.contains(index(*rank))) both.insert(index(*rank));
  }
  return {both.begin(), both.end()};
}

/// Which pair tells the time of a link, which is one
/// of `hops` that its messages pass.
struct Source {
  MeasuredPair pair;
  double hops = 1;
};

std::vector<std::optional<Source>> sources_of(const Topology& topology) {
  std::vector<std::optional<Source>> sources(topology.num_links());
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    const Link& link = topology.link(LinkId{id});
    const auto src = topology.node(link.src).rank, dst = topology.node(link.dst).rank;
    if (src && dst) sources[id] = Source{{index(*src), index(*dst)}, 1};
  }
  for (std::uint32_t v = 0; v < topology.num_nodes(); ++v) {
    if (!topology.node(NodeId{v}).is_switch()) continue;
    const std::vector<std::uint32_t> ranks = ranks_at(topology, NodeId{v});
    if (ranks.size() < 2) continue;
    const auto place = [&](Rank rank) {
      return static_cast<std::size_t>(std::ranges::lower_bound(ranks, index(rank)) - ranks.begin());
    };
    const auto known = [&](std::optional<Rank> rank) {
      return rank && std::ranges::binary_search(ranks, index(*rank));
    };
    const std::size_t n = ranks.size();
    for (const LinkId id : topology.in_links(NodeId{v})) {
      const auto rank = topology.node(topology.link(id).src).rank;
      if (!known(rank)) continue;
      sources[index(id)] = Source{{index(*rank), ranks[(place(*rank) + 1) % n]}, 2};
    }
    for (const LinkId id : topology.out_links(NodeId{v})) {
      const auto rank = topology.node(topology.link(id).dst).rank;
      if (!known(rank)) continue;
      sources[index(id)] = Source{{ranks[(place(*rank) + n - 1) % n], index(*rank)}, 2};
    }
  }
  return sources;
}

/// Alpha and beta of the messages of a pair.
struct PairCost {
  double latency_ns = 0;
  double bandwidth = 0;  ///< bytes a second
};

}  // namespace

std::vector<MeasuredPair> pairs_to_measure(const Topology& topology) {
  std::set<MeasuredPair> pairs;
  for (const auto& source : sources_of(topology)) {
    if (source) pairs.insert(source->pair);
  }
  const std::uint32_t n = topology.num_ranks();
  if (pairs.empty() && n > 1) {
    for (std::uint32_t r = 0; r < n; ++r) pairs.insert({r, (r + 1) % n});
  }
  return {pairs.begin(), pairs.end()};
}

LinkTable table_of(const Topology& topology, const std::vector<PairTimes>& times) {
  std::map<MeasuredPair, const PairTimes*> by_pair;
  std::map<std::uint32_t, double> degree;  // messages that a rank sends at a time
  for (const PairTimes& t : times) {
    by_pair[t.pair] = &t;
    ++degree[t.pair.src];
  }
  std::vector<double> overheads;
  for (const PairTimes& t : times) {
    overheads.push_back(static_cast<double>(t.burst - t.small) /
                        ((kBurst - 1) * degree[t.pair.src]));
  }
  const double overhead = std::max(median(overheads), 0.0);

  std::map<MeasuredPair, PairCost> costs;
  std::vector<double> latencies, bandwidths;
  for (const PairTimes& t : times) {
    // Both directions together do not depend on how well the clocks are known.
    const auto back = by_pair.find({t.pair.dst, t.pair.src});
    const double one_way =
        back == by_pair.end()
            ? static_cast<double>(t.small)
            : (static_cast<double>(t.small) + static_cast<double>(back->second->small)) / 2;
    const double latency = one_way - overhead * (degree[t.pair.src] + 1) / 2;
    const double ns = std::max(static_cast<double>(t.large - t.small), 1e-6);
    const double bandwidth = static_cast<double>(kLargeBytes - kSmallBytes) * 1e9 / ns;
    costs[t.pair] = {std::clamp(latency, 0.0, kMostLatency), std::min(bandwidth, kMostBandwidth)};
    latencies.push_back(costs[t.pair].latency_ns);
    bandwidths.push_back(costs[t.pair].bandwidth);
  }

  const auto sources = sources_of(topology);
  // Several links may be what a pair's messages go over: parallel ones, or several switches.
  std::map<MeasuredPair, double> ways;
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    if (!sources[id]) continue;
    const bool first = topology.node(topology.link(LinkId{id}).src).rank.has_value();
    if (first &&
        index(*topology.node(topology.link(LinkId{id}).src).rank) == sources[id]->pair.src) {
      ++ways[sources[id]->pair];
    }
  }
  std::vector<double> hop_latencies, speeds;  // of links that were measured; speed: of the declared
  const auto time_of = [&](std::uint32_t id) -> PairCost {
    const PairCost cost = costs[sources[id]->pair];
    return {cost.latency_ns / sources[id]->hops, cost.bandwidth / ways[sources[id]->pair]};
  };
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    if (!sources[id]) continue;
    const auto declared = static_cast<double>(topology.link(LinkId{id}).bandwidth.bytes_per_second);
    hop_latencies.push_back(time_of(id).latency_ns);
    speeds.push_back(time_of(id).bandwidth / declared);
  }
  LinkTable table;
  table.topology = topology.name();
  table.message_overhead = {std::llround(std::min(overhead, kMostLatency) * 1e3)};
  std::set<std::pair<NodeId, NodeId>> done;
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    const Link& link = topology.link(LinkId{id});
    if (!done.emplace(link.src, link.dst).second) continue;
    PairCost cost;
    if (sources[id]) {
      cost = time_of(id);
    } else if (!speeds.empty()) {
      cost = {median(hop_latencies),
              median(speeds) * static_cast<double>(link.bandwidth.bytes_per_second)};
    } else {
      cost = {median(latencies) / 2, median(bandwidths)};
    }
    const double bandwidth = std::clamp(cost.bandwidth, 1.0, kMostBandwidth);
    table.links.push_back({topology.node(link.src).name, topology.node(link.dst).name,
                           Time{std::llround(cost.latency_ns * 1e3)},
                           Bandwidth{static_cast<std::uint64_t>(std::llround(bandwidth))}});
  }
  return table;
}

}  // namespace multitree::runtime
