// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From times of messages to times of links.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "runtime/measure/link_measurement.hpp"

namespace multitree::runtime {
namespace {

constexpr double kMostBandwidth = 1e15;  // bytes a second: no time could be seen
constexpr double kMostLatency = 1e9;     // ns, the most that a network may have
constexpr double kAlike = 2;             // times faster or slower
constexpr double kLeastBurst = 0.25;     // of kLargeBytes
constexpr double kShared = 2;            // times longer than a message that is alone

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Ranks that a switch has links to and from, ascending.
std::vector<Rank> ranks_at(const Topology& topology, NodeId node) {
  std::set<Rank> to, both;
  for (const LinkId id : topology.out_links(node)) {
    if (const auto rank = topology.node(topology.link(id).dst).rank) to.insert(*rank);
  }
  for (const LinkId id : topology.in_links(node)) {
    const auto rank = topology.node(topology.link(id).src).rank;
    if (rank && to.contains(*rank)) both.insert(*rank);
  }
  return {both.begin(), both.end()};
}

/// The pair of ranks from whose times a link gets its own; its messages pass `hops` such links.
struct Source {
  MeasuredPair pair;
  double hops = 1;
};

std::vector<std::optional<Source>> sources_of(const Topology& topology) {
  std::vector<std::optional<Source>> sources(topology.num_links());
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    const Link& link = topology.link(LinkId{id});
    const auto src = topology.node(link.src).rank, dst = topology.node(link.dst).rank;
    if (src && dst) sources[id] = Source{{*src, *dst}, 1};
  }
  for (std::uint32_t v = 0; v < topology.num_nodes(); ++v) {
    if (!topology.node(NodeId{v}).is_switch()) continue;
    const std::vector<Rank> ranks = ranks_at(topology, NodeId{v});
    if (ranks.size() < 2) continue;
    const auto place = [&](Rank rank) {
      return static_cast<std::size_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
    };
    const auto known = [&](std::optional<Rank> rank) {
      return rank && std::ranges::binary_search(ranks, *rank);
    };
    const std::size_t n = ranks.size();
    for (const LinkId id : topology.in_links(NodeId{v})) {
      const auto rank = topology.node(topology.link(id).src).rank;
      if (!known(rank)) continue;
      sources[index(id)] = Source{{*rank, ranks[(place(*rank) + 1) % n]}, 2};
    }
    for (const LinkId id : topology.out_links(NodeId{v})) {
      const auto rank = topology.node(topology.link(id).dst).rank;
      if (!known(rank)) continue;
      sources[index(id)] = Source{{ranks[(place(*rank) + n - 1) % n], *rank}, 2};
    }
  }
  return sources;
}

/// Alpha and beta of the messages of a pair, or of a link.
struct Cost {
  double latency_ns = 0;
  double bandwidth = 0;  ///< bytes a second
};

/// Messages that each rank sends at a time.
std::map<Rank, double> degrees_of(const std::vector<PairTimes>& times) {
  std::map<Rank, double> degrees;
  for (const PairTimes& t : times) ++degrees[t.pair.src];
  return degrees;
}

/// ns that a message takes its sender, beyond those that it waits for.
double overhead_of(const std::vector<PairTimes>& times) {
  auto degrees = degrees_of(times);
  std::vector<double> overheads;
  for (const PairTimes& t : times) {
    overheads.push_back(static_cast<double>(t.burst - t.small) /
                        ((kBurst - 1) * degrees[t.pair.src]));
  }
  return std::clamp(median(overheads), 0.0, kMostLatency);
}

/// ns of one large message of several, when what shapers let through at once has passed. Rounds of
/// one and of several differ by less than that where links rest longer before one of them, and
/// arrivals by less where several are found at one look.
double steady_of(const PairTimes& t) {
  return std::max(static_cast<double>(t.many - t.large) / (kMany - 1),
                  static_cast<double>(t.steady) / (kMany - 2));
}

/// Bytes a second, where `bytes` take `ns`; `unseen` where that time is too short to be seen.
double bandwidth_of(double bytes, double ns, double unseen) {
  return ns <= 0 ? unseen : std::min(bytes * 1e9 / ns, kMostBandwidth);
}

/// Bandwidth of a round in which each of `pairs` sends kMany large messages. Within a host no
/// shaper lets a first message through at once, so both count.
double bandwidth_of(const HostTimes::Round& round, double pairs, double unseen) {
  return bandwidth_of(kMany * pairs * static_cast<double>(kLargeBytes),
                      static_cast<double>(round.many - round.small), unseen);
}

double bandwidth_of(const HostTimes& host) {
  return bandwidth_of(host.all, host.pairs, kMostBandwidth);
}

/// ns that a small message takes, from a round of one and a round of kBurst of them for each of
/// `pairs`.
double message_of(const HostTimes::Round& round, double pairs) {
  const double ns = static_cast<double>(round.burst - round.small) / ((kBurst - 1) * pairs);
  return std::clamp(ns, 0.0, kMostLatency);
}

/// The same where ranks share processors only: of messages that come one at a time, as those of
/// small collectives do, and wake who waits for them. Where a chain of these takes no longer than
/// one that is alone, ranks have processors of their own.
double message_of(const HostTimes& host) {
  const double several = message_of(host.all, host.pairs);
  if (host.memory || host.pairs_in_turn == 0) return several;
  const double step = static_cast<double>(host.all.chain) / kChain;
  if (step < kShared * static_cast<double>(host.single)) return several;
  return std::clamp(step / host.pairs_in_turn, several, kMostLatency);
}

/// Percent of that which a message takes that leaves with others of its sender.
std::uint32_t awake_of(const HostTimes& host) {
  const double woken = message_of(host), several = message_of(host.all, host.pairs);
  return woken <= 0 ? 100 : static_cast<std::uint32_t>(std::lround(100 * several / woken));
}

/// The host of both ends of a pair; null if there is none.
class Hosts {
 public:
  explicit Hosts(const std::vector<HostTimes>& hosts) {
    for (const HostTimes& host : hosts) {
      for (const Rank rank : host.ranks) by_rank_[rank] = &host;
    }
  }
  const HostTimes* of(MeasuredPair pair) const {
    const auto src = by_rank_.find(pair.src), dst = by_rank_.find(pair.dst);
    if (src == by_rank_.end() || dst == by_rank_.end()) return nullptr;
    return src->second == dst->second ? src->second : nullptr;
  }

 private:
  std::map<Rank, const HostTimes*> by_rank_;
};

/// The same where ranks share processors: of a sender that has one for itself, which is no slower.
double overhead_of(const std::vector<PairTimes>& times, const std::vector<HostTimes>& hosts) {
  if (hosts.empty()) return overhead_of(times);
  std::vector<double> overheads;
  for (const HostTimes& host : hosts) overheads.push_back(message_of(host.alone, 1));
  return std::min(median(overheads), overhead_of(times));
}

/// Percent of a message's cost that one has which leaves with another: what those of a burst take
/// more than one alone, posted at once and one by one.
std::uint32_t together_of(const std::vector<PairTimes>& times) {
  std::vector<double> parts;
  for (const PairTimes& t : times) {
    const auto more = static_cast<double>(t.burst - t.small);
    if (t.together == 0 || more <= 0) continue;
    parts.push_back(static_cast<double>(t.together - t.small) / more);
  }
  if (parts.empty()) return 100;
  return static_cast<std::uint32_t>(
      std::lround(100 * std::clamp(median(std::move(parts)), 0.0, 1.0)));
}

using PairCosts = std::map<MeasuredPair, Cost>;

PairCosts costs_of(const std::vector<PairTimes>& times, const std::vector<HostTimes>& hosts,
                   double overhead) {
  const Hosts shared(hosts);
  auto degrees = degrees_of(times);
  std::map<MeasuredPair, double> one_way;
  for (const PairTimes& t : times) {
    // On average a message waits for half of those that its sender has for the others, and for half
    // of those that its host has.
    double waits = overhead * (degrees[t.pair.src] + 1) / 2;
    const HostTimes* const host = shared.of(t.pair);
    if (host != nullptr && !host->memory) {
      one_way[t.pair] = static_cast<double>(host->single) - overhead;
      continue;
    }
    if (host != nullptr) waits = std::max(waits, message_of(*host) * (host->pairs + 1) / 2);
    one_way[t.pair] = static_cast<double>(t.small) - waits;
  }
  PairCosts costs;
  for (const PairTimes& t : times) {
    // Both directions together do not depend on how well the clocks are known.
    const auto back = one_way.find({t.pair.dst, t.pair.src});
    const double there = one_way[t.pair];
    const double latency = back == one_way.end() ? there : (there + back->second) / 2;
    const HostTimes* host = shared.of(t.pair);
    const double bandwidth = host == nullptr || !host->memory
                                 ? bandwidth_of(static_cast<double>(kLargeBytes), steady_of(t),
                                                kMostBandwidth)
                                 : bandwidth_of(host->alone, 1, bandwidth_of(*host));
    costs[t.pair] = {std::clamp(latency, 0.0, kMostLatency), bandwidth};
  }
  return costs;
}

/// Bytes that links let through at once after a rest, up to kLargeBytes, as half of them do at
/// least: the part of a large message that takes no time there.
std::uint64_t burst_of(const std::vector<PairTimes>& times, const std::vector<HostTimes>& hosts) {
  const Hosts shared(hosts);
  std::vector<double> parts;
  for (const PairTimes& t : times) {
    const HostTimes* const host = shared.of(t.pair);
    if (host != nullptr && host->memory) continue;
    const double steady = steady_of(t);
    const bool known = t.rested != 0 && steady > 0;
    parts.push_back(known ? 1 - static_cast<double>(t.rested - t.small) / steady : 0);
  }
  const double part = std::min(median(std::move(parts)), 1.0);
  // Less may be noise.
  return part < kLeastBurst ? 0
                            : static_cast<std::uint64_t>(part * static_cast<double>(kLargeBytes));
}

Cost median_of(const std::vector<Cost>& costs) {
  std::vector<double> latencies, bandwidths;
  for (const Cost& cost : costs) {
    latencies.push_back(cost.latency_ns);
    bandwidths.push_back(cost.bandwidth);
  }
  return {median(std::move(latencies)), median(std::move(bandwidths))};
}

/// Costs that differ from the median by less than a factor of two become the median: such
/// differences are chance, and schedules must not be chosen by them.
void level(PairCosts& costs) {
  std::vector<Cost> all;
  for (const auto& [pair, cost] : costs) all.push_back(cost);
  const Cost middle = median_of(all);
  const auto pull = [](double& value, double to) {
    if (value <= to * kAlike && value * kAlike >= to) value = to;
  };
  for (auto& [pair, cost] : costs) {
    pull(cost.latency_ns, middle.latency_ns);
    pull(cost.bandwidth, middle.bandwidth);
  }
}

/// ns that a link adds to a message that is alone; none if nothing says so. The median of what each
/// far message says beside each near one (Theil 1950, Sen 1968): ends of one reach may share a
/// processor and those of another not, which a message feels more than some links.
std::optional<double> hop_of(const std::vector<ReachTimes>& reaches) {
  std::vector<double> hops;
  for (const ReachTimes& to : reaches) {
    for (const ReachTimes& from : reaches) {
      const auto more = static_cast<double>(to.reach.far_hops) - from.reach.near_hops;
      if (more > 0) hops.push_back(static_cast<double>(to.far - from.near) / more);
    }
  }
  if (hops.empty()) return std::nullopt;
  return std::clamp(median(std::move(hops)), 0.0, kMostLatency);
}

/// Leaves pairs the latency of their links. \returns that of their ends, the same for all: what the
/// usual pair takes more than its links do
double take_out_ends(const Topology& topology, const std::vector<ReachTimes>& reaches,
                     PairCosts& pairs) {
  const std::optional<double> hop = hop_of(reaches);
  if (!hop) return 0;
  std::map<MeasuredPair, double> links;
  for (const auto& source : sources_of(topology)) {
    if (source) links[source->pair] = source->hops;
  }
  std::vector<double> rests;
  for (const auto& [pair, cost] : pairs) {
    const auto found = links.find(pair);
    rests.push_back(cost.latency_ns - *hop * (found == links.end() ? 2 : found->second));
  }
  const double ends = std::max(median(std::move(rests)), 0.0);
  for (auto& [pair, cost] : pairs) cost.latency_ns = std::max(cost.latency_ns - ends, 0.0);
  return ends;
}

/// Links that leave a rank for the messages of a pair: parallel ones, or to several switches.
std::map<MeasuredPair, double> ways_of(const Topology& topology,
                                       const std::vector<std::optional<Source>>& sources) {
  std::map<MeasuredPair, double> ways;
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    const auto src = topology.node(topology.link(LinkId{id}).src).rank;
    if (sources[id] && src && *src == sources[id]->pair.src) ++ways[sources[id]->pair];
  }
  return ways;
}

/// By link. Those that nobody has measured are as the median of the others, by what is declared.
std::vector<Cost> link_costs(const Topology& topology, PairCosts pairs) {
  const auto sources = sources_of(topology);
  auto ways = ways_of(topology, sources);
  const auto declared = [&](std::uint32_t id) {
    return static_cast<double>(topology.link(LinkId{id}).bandwidth.bytes_per_second);
  };
  std::vector<Cost> costs(topology.num_links()), known;  // known: bandwidth over the declared
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    if (!sources[id]) continue;
    const Cost pair = pairs[sources[id]->pair];
    costs[id] = {pair.latency_ns / sources[id]->hops, pair.bandwidth / ways[sources[id]->pair]};
    known.push_back({costs[id].latency_ns, costs[id].bandwidth / declared(id)});
  }
  std::vector<Cost> all;
  for (const auto& [pair, cost] : pairs) all.push_back(cost);
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    if (sources[id]) continue;
    const Cost other = median_of(known.empty() ? all : known);
    costs[id] = known.empty() ? Cost{other.latency_ns / 2, other.bandwidth}
                              : Cost{other.latency_ns, other.bandwidth * declared(id)};
  }
  return costs;
}

}  // namespace

std::vector<MeasuredPair> pairs_to_measure(const Topology& topology) {
  std::set<MeasuredPair> pairs;
  for (const auto& source : sources_of(topology)) {
    if (source) pairs.insert(source->pair);
  }
  const std::uint32_t n = topology.num_ranks();
  if (pairs.empty() && n > 1) {
    for (std::uint32_t r = 0; r < n; ++r) pairs.insert({Rank{r}, Rank{(r + 1) % n}});
  }
  return {pairs.begin(), pairs.end()};
}

std::vector<MeasuredPair> pairs_in_turn(const Topology& topology) {
  std::set<Rank> senders, receivers;
  std::set<MeasuredPair> chosen;
  for (const MeasuredPair& pair : pairs_to_measure(topology)) {
    if (senders.contains(pair.src) || receivers.contains(pair.dst)) continue;
    if (chosen.contains({pair.dst, pair.src})) continue;
    senders.insert(pair.src);
    receivers.insert(pair.dst);
    chosen.insert(pair);
  }
  return {chosen.begin(), chosen.end()};
}

LinkTable table_of(const Topology& topology, const std::vector<PairTimes>& times,
                   const std::vector<HostTimes>& hosts, const std::vector<ReachTimes>& reaches) {
  const double overhead = overhead_of(times, hosts);
  PairCosts pairs = costs_of(times, hosts, overhead);
  level(pairs);
  const double of_messages = take_out_ends(topology, reaches, pairs);
  const std::vector<Cost> costs = link_costs(topology, std::move(pairs));
  LinkTable table;
  table.topology = topology.name();
  table.message_overhead = {std::llround(overhead) * 1000};
  table.message_latency = {std::llround(of_messages) * 1000};
  table.together = together_of(times);
  std::set<std::pair<NodeId, NodeId>> done;  // parallel links are one entry
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    const Link& link = topology.link(LinkId{id});
    if (!done.emplace(link.src, link.dst).second) continue;
    const double bandwidth = std::clamp(costs[id].bandwidth, 1.0, kMostBandwidth);
    table.links.push_back({topology.node(link.src).name, topology.node(link.dst).name,
                           Time{std::llround(costs[id].latency_ns) * 1000},
                           Bandwidth{static_cast<std::uint64_t>(std::llround(bandwidth))}});
  }
  for (const HostTimes& host : hosts) {
    LinkTable::Host entry;
    for (const Rank rank : host.ranks) {
      entry.nodes.push_back(topology.node(topology.node_of(rank)).name);
    }
    entry.message = {std::llround(message_of(host)) * 1000};
    entry.awake = awake_of(host);
    const double rate = std::max(bandwidth_of(host), 1.0);
    if (host.memory) entry.bandwidth = {static_cast<std::uint64_t>(std::llround(rate))};
    table.hosts.push_back(std::move(entry));
  }
  table.burst_bytes = burst_of(times, hosts);
  return table;
}

}  // namespace multitree::runtime
