// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Compares cablings of one degree by what is proven of them.
#include "algorithms/design/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/report.hpp"
#include "algorithms/traffic/routed_demand.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kMostRanks = 1024;
constexpr std::uint64_t kSeeds = 2;

double seconds_of_bound(const Exact& shards, const DesignTask& task) {
  return shards.convert_to<double>() * static_cast<double>(task.bytes) / task.ranks /
         static_cast<double>(task.bandwidth.bytes_per_second);
}

double latency_of(std::uint32_t hops, const DesignTask& task) {
  return hops * static_cast<double>(task.latency.picoseconds) / 1e12;
}

Cables cables_of(const Topology& topology) {
  Cables cables;
  for (const Link& link : topology.links()) {
    if (link.src < link.dst) cables.emplace_back(index(link.src), index(link.dst));
  }
  return cables;
}

Topology network_of(const Cables& cables, const DesignTask& task) {
  TopologyBuilder builder(fmt::format("design {}x{}", task.ranks, task.ports));
  for (std::uint32_t r = 0; r < task.ranks; ++r) builder.add_endpoint();
  for (const auto& [a, b] : cables) {
    builder.add_duplex(NodeId{a}, NodeId{b}, task.bandwidth, task.latency);
  }
  return std::move(builder).build();
}

Exact least_shards(const Topology& topology, Collective collective) {
  if (collective == Collective::AllToAll) {
    return route_demand(topology, Demand::uniform(topology.num_ranks())).load;
  }
  return certify(topology, collective).certificate.bound;
}

Design judged(std::string kind, Topology topology, const DesignTask& task) {
  Design design{std::move(kind), std::move(topology), {}, 0, 0};
  design.spread = spread_of(cables_of(design.topology), task.ranks);
  design.shards = least_shards(design.topology, task.collective);
  design.seconds = seconds_of_bound(design.shards, task) + latency_of(design.spread.hops, task);
  return design;
}

/// The best of some searches that begin differently.
Cables searched(const DesignTask& task) {
  Cables best = search_regular(task.ranks, task.ports, 1);
  for (std::uint64_t seed = 2; seed <= kSeeds; ++seed) {
    Cables next = search_regular(task.ranks, task.ports, seed);
    if (spread_of(next, task.ranks) < spread_of(best, task.ranks)) best = std::move(next);
  }
  return best;
}

}  // namespace

Designs design_networks(const DesignTask& task) {
  if (task.collective != Collective::AllReduce && task.collective != Collective::AllToAll) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected allreduce or alltoall, got {}", to_string(task.collective)));
  }
  if (task.ranks > kMostRanks) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected at most {} ranks, got {}", kMostRanks, task.ranks));
  }
  Designs result{
      .degree = degree_bound(task.ranks, task.ports), .degree_seconds = 0, .designs = {}};
  const Exact least = task.collective == Collective::AllToAll ? result.degree.all_to_all()
                                                              : result.degree.all_reduce();
  result.degree_seconds = seconds_of_bound(least, task) + latency_of(result.degree.hops, task);
  for (const NamedSpec& candidate : cayley_candidates(task.ranks, task.ports)) {
    const bool has_query = candidate.spec.find('?') != std::string::npos;
    const std::string spec = fmt::format("{}{}bw={}&lat={}", candidate.spec, has_query ? '&' : '?',
                                         to_string(task.bandwidth), to_string(task.latency));
    result.designs.push_back(judged(candidate.kind, make_topology(spec), task));
  }
  if (task.ports + 1 < task.ranks && task.ports > 2) {
    result.designs.push_back(judged("search", network_of(searched(task), task), task));
  }
  std::ranges::stable_sort(result.designs, [](const Design& a, const Design& b) {
    return std::pair(a.seconds, a.spread) < std::pair(b.seconds, b.spread);
  });
  // Of each kind the best.
  std::vector<std::string> kinds;
  std::erase_if(result.designs, [&](const Design& design) {
    const bool seen = std::ranges::find(kinds, design.kind) != kinds.end();
    if (!seen) kinds.push_back(design.kind);
    return seen;
  });
  return result;
}

}  // namespace multitree
