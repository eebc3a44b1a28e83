// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Chooses how a demand is routed, and makes the proof of what comes out.
#include "algorithms/traffic/routed_demand.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/traffic/box_routes_internal.hpp"
#include "algorithms/traffic/flow_paths_internal.hpp"
#include "algorithms/traffic/orbit_flow.hpp"

namespace multitree {
namespace {

/// Rounds of 64 ranks; fewer ranks have more, which take no longer. Random graphs of 64 ranks are
/// within 0.5 % after as many.
constexpr unsigned kRounds = 600, kRoundsAreOf = 64, kMostRounds = 10'000;

unsigned rounds_of(const Demand& demand) {
  return std::clamp(kRounds * kRoundsAreOf / demand.ranks(), kRounds, kMostRounds);
}

/// Prices are whole numbers up to this.
constexpr double kPriceUnit = 1U << 20;

Certificate header_of(const Topology& topology, const Demand& demand) {
  Certificate certificate;
  certificate.collective = Collective::AllToAll;
  certificate.ranks = topology.num_ranks();
  if (!demand.is_uniform()) certificate.demand = demand.entries();
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const FarthestRank far = farthest_rank(topology, Rank{r});
    if (far.hops <= certificate.hops) continue;
    certificate.hops = far.hops;
    certificate.far_apart = {Rank{r}, far.rank};
  }
  return certificate;
}

/// The prices, or those of them that are not small: what proves the most.
Certificate proof_of(const Topology& topology, const Demand& demand,
                     const std::vector<double>& price) {
  Certificate best = header_of(topology, demand);
  for (const double least : {0.0, 0.001, 0.03, 0.3}) {
    Certificate next = best;
    next.links.clear();
    for (std::uint32_t l = 0; l < price.size(); ++l) {
      const auto whole = static_cast<std::uint64_t>(std::llround(price[l] * kPriceUnit));
      if (whole > 0 && price[l] >= least) next.links.push_back({LinkId{l}, Exact(whole)});
    }
    if (next.links.size() == best.links.size()) continue;
    next.bound = evaluate(next, topology);
    if (next.bound > best.bound) best = std::move(next);
  }
  return best;
}

}  // namespace

Exact load_of_paths(const std::vector<FlowPath>& paths, std::uint64_t parts, const Demand& demand,
                    const Topology& topology) {
  using Wide = unsigned __int128;
  std::vector<Wide> carried(topology.num_links(), 0);
  for (const FlowPath& path : paths) {
    for (const LinkId id : path.links) carried[index(id)] += path.weight;
  }
  Exact most = 0;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Exact load(boost::multiprecision::cpp_int(carried[l]),
                     topology.link(LinkId{l}).bandwidth.bytes_per_second);
    most = std::max(most, load);
  }
  const boost::multiprecision::cpp_int shard(demand.shard());
  return most * Exact(topology.unit_bandwidth().bytes_per_second) / Exact(shard * parts);
}

RoutedDemand route_demand(const Topology& topology, const Demand& demand, double tolerance) {
  RoutedDemand routed;
  if (demand.is_uniform()) {
    if (const auto orbit = find_orbit_flow(topology)) {
      routed.certificate = header_of(topology, demand);
      routed.certificate.links = orbit->prices();
      routed.certificate.bound = evaluate(routed.certificate, topology);
      routed.load = orbit->load();
      routed.parts = orbit->parts();
      routed.paths = orbit->paths();
      return routed;
    }
  }
  if (const auto boxes = find_boxes(topology)) {
    routed.certificate = proof_of(topology, demand, prices_of_ports(*boxes, demand, topology));
    routed.parts = parts_of(demand);
    routed.paths = route_between_boxes(*boxes, demand, routed.parts);
    routed.load = load_of_paths(routed.paths, routed.parts, demand, topology);
    const Exact ratio = routed.load / routed.certificate.bound;
    if (ratio.convert_to<double>() <= 1 + tolerance) return routed;
  }
  const ConcurrentFlow flow = route_concurrently(topology, demand, tolerance, rounds_of(demand));
  routed.certificate = proof_of(topology, demand, flow.price);
  routed.parts = parts_of(demand);
  routed.paths = paths_of(flow, demand, routed.parts, topology);
  routed.load = load_of_paths(routed.paths, routed.parts, demand, topology);
  return routed;
}

}  // namespace multitree
