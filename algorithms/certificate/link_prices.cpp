// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The independent evaluator of prices of links: cheapest paths in exact arithmetic.
#include "algorithms/certificate/link_prices_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

namespace multitree {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// Distances must not wrap: prices below this, and paths of fewer links than 2^20.
constexpr std::uint64_t kMostWord = std::uint64_t{1} << 40;

/// The prices as whole numbers in a unit of their own, by link.
std::vector<Integer> whole_prices(const Certificate& certificate, const Topology& topology) {
  Integer unit = 1;
  for (const LinkPrice& price : certificate.links) unit = lcm(unit, denominator(price.price));
  std::vector<Integer> whole(topology.num_links(), 0);
  for (const LinkPrice& price : certificate.links) {
    whole[index(price.link)] = numerator(price.price) * (unit / denominator(price.price));
  }
  return whole;
}

/// Dijkstra from one node; every rank can be reached.
template <typename Number>
std::vector<std::pair<bool, Number>> distances(const Topology& topology, NodeId source,
                                               const std::vector<Number>& price) {
  using Nearest = std::pair<Number, std::uint32_t>;
  std::vector<std::pair<bool, Number>> distance(topology.num_nodes(), {false, Number(0)});
  std::priority_queue<Nearest, std::vector<Nearest>, std::greater<>> queue;
  distance[index(source)] = {true, Number(0)};
  queue.emplace(Number(0), index(source));
  while (!queue.empty()) {
    const auto [so_far, node] = queue.top();
    queue.pop();
    if (so_far != distance[node].second) continue;
    for (const LinkId id : topology.out_links(NodeId{node})) {
      const std::uint32_t next = index(topology.link(id).dst);
      const Number there = so_far + price[index(id)];
      auto& [reached, least] = distance[next];
      if (reached && least <= there) continue;
      reached = true;
      least = there;
      queue.emplace(there, next);
    }
  }
  return distance;
}

/// What s has for t, in the certificate's unit.
std::uint64_t demand_of(const Certificate& certificate, std::uint32_t s, std::uint32_t t) {
  if (certificate.demand.empty()) return 1;
  return certificate.demand[std::size_t{s} * certificate.ranks + t];
}

/// A shard in the certificate's unit: the largest sum of a row.
Integer shard_of_demand(const Certificate& certificate) {
  Integer largest = 0;
  for (std::uint32_t s = 0; s < certificate.ranks; ++s) {
    Integer row = 0;
    for (std::uint32_t t = 0; t < certificate.ranks; ++t) row += demand_of(certificate, s, t);
    largest = std::max(largest, row);
  }
  return largest;
}

/// Sum of demand * distance.
template <typename Number>
Integer paid(const Certificate& certificate, const Topology& topology,
             const std::vector<Number>& price) {
  Integer sum = 0;
  for (std::uint32_t s = 0; s < topology.num_ranks(); ++s) {
    const auto distance = distances(topology, topology.node_of(Rank{s}), price);
    for (std::uint32_t t = 0; t < topology.num_ranks(); ++t) {
      if (s == t) continue;
      const auto& [reached, least] = distance[index(topology.node_of(Rank{t}))];
      if (reached) sum += Integer(demand_of(certificate, s, t)) * Integer(least);
    }
  }
  return sum;
}

}  // namespace

Exact bound_by_prices(const Certificate& certificate, const Topology& topology) {
  const std::vector<Integer> price = whole_prices(certificate, topology);
  Integer earned = 0;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    earned += price[l] * Integer(topology.link(LinkId{l}).bandwidth.bytes_per_second);
  }
  const Integer shard = shard_of_demand(certificate);
  if (earned == 0 || shard == 0) return 0;
  Integer sum = 0;
  if (std::ranges::all_of(price, [](const Integer& p) { return p < kMostWord; })) {
    std::vector<std::uint64_t> words;
    words.reserve(price.size());
    for (const Integer& p : price) words.push_back(p.convert_to<std::uint64_t>());
    sum = paid(certificate, topology, words);
  } else {
    sum = paid(certificate, topology, price);
  }
  return Exact(sum * Integer(topology.unit_bandwidth().bytes_per_second), earned * shard);
}

std::vector<std::string> faults_of_prices(const Certificate& certificate,
                                          const Topology& topology) {
  std::vector<std::string> faults;
  if (!certificate.links.empty() && certificate.collective != Collective::AllToAll) {
    faults.push_back(
        fmt::format("expected no prices of links in {}", to_string(certificate.collective)));
  }
  const bool has_cuts = !certificate.cuts.empty() || !certificate.prices.empty();
  if (has_cuts && certificate.collective == Collective::AllToAll) {
    faults.emplace_back("expected prices of links and no cuts in alltoall");
  }
  for (std::size_t i = 0; i < certificate.links.size(); ++i) {
    const LinkPrice& price = certificate.links[i];
    const std::string name = fmt::format("price of link {}", index(price.link));
    if (index(price.link) >= topology.num_links()) {
      faults.push_back(fmt::format("{}: expected a link below {}", name, topology.num_links()));
    }
    if (price.price < 0) faults.push_back(name + ": expected a price of at least 0");
    if (i > 0 && certificate.links[i - 1].link >= price.link) {
      faults.push_back(name + ": expected links in ascending order");
    }
  }
  return faults;
}

std::string fault_of_demand(const Certificate& certificate, const Topology& topology) {
  if (certificate.demand.empty()) return {};
  if (certificate.collective != Collective::AllToAll) {
    return fmt::format("expected no demand in {}", to_string(certificate.collective));
  }
  const std::size_t ranks = topology.num_ranks();
  if (certificate.demand.size() == ranks * ranks) return {};
  return fmt::format("expected a demand of {} rows of {}, got {} numbers", ranks, ranks,
                     certificate.demand.size());
}

std::string fault_of_moved(const Certificate& certificate, const Schedule& schedule) {
  const std::size_t ranks = schedule.ranks;
  const bool sizes_fit = certificate.ranks == ranks &&
                         (certificate.demand.empty() || certificate.demand.size() == ranks * ranks);
  if (certificate.collective != Collective::AllToAll || schedule.collective != Collective::AllToAll)
    return {};
  if (!sizes_fit) return {};  // said elsewhere
  std::vector<std::uint64_t> weight(ranks * ranks, 0), whole(ranks, 0);
  for (const Chunk& chunk : schedule.chunks) {
    weight[index(chunk.source) * ranks + index(chunk.target)] += chunk.weight;
    whole[index(chunk.source)] += chunk.weight;
  }
  const Integer shard = shard_of_demand(certificate);
  for (std::uint32_t s = 0; s < ranks; ++s) {
    for (std::uint32_t t = 0; t < ranks; ++t) {
      const Integer expected = Integer(demand_of(certificate, s, t)) * whole[s];
      if (s == t || expected == Integer(weight[s * ranks + t]) * shard) continue;
      return fmt::format(
          "expected {}/{} of a shard from rank {} to rank {}, the schedule moves {}/{}",
          demand_of(certificate, s, t), shard.str(), s, t, weight[s * ranks + t], whole[s]);
    }
  }
  return {};
}

}  // namespace multitree
