// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The exact all-reduce optimum: by simple prices where they prove reduce-scatter and all-gather
/// optimal, by the linear program otherwise.
#include "algorithms/certificate/all_reduce_lp.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/price_certificate_internal.hpp"
#include "algorithms/certificate/tree_program_internal.hpp"

namespace multitree {
namespace {

/// Bandwidth in units of the slowest link's.
Exact width(const Topology& topology, std::uint32_t link) {
  return Exact(topology.links()[link].bandwidth.bytes_per_second,
               topology.unit_bandwidth().bytes_per_second);
}

/// Links of price 1, others free: all, those at ranks, those up to some bandwidth.
std::vector<std::vector<Exact>> simple_prices(const Topology& topology) {
  constexpr std::size_t kMostBandwidths = 4;
  std::vector<std::vector<Exact>> candidates;
  const auto add = [&](const auto& has_price) {
    candidates.emplace_back();
    for (const Link& link : topology.links()) candidates.back().push_back(has_price(link) ? 1 : 0);
  };
  add([](const Link&) { return true; });
  add([&](const Link& link) {
    return !topology.node(link.src).is_switch() || !topology.node(link.dst).is_switch();
  });
  std::set<Bandwidth> bandwidths;
  for (const Link& link : topology.links()) bandwidths.insert(link.bandwidth);
  for (const Bandwidth limit : bandwidths) {
    if (candidates.size() == 2 + kMostBandwidths || limit == *bandwidths.rbegin()) break;
    add([&](const Link& link) { return link.bandwidth <= limit; });
  }
  return candidates;
}

/// The flows of reduce-scatter then all-gather, if simple prices prove them optimal.
std::optional<AllReduceOptimum> two_phases(const Topology& topology) {
  if (!is_balanced(topology)) return std::nullopt;
  const Bounds bounds = compute_bounds(topology);
  AllReduceOptimum optimum;
  optimum.time = to_exact(bounds.all_reduce());
  bool is_proved = false;
  for (const std::vector<Exact>& prices : simple_prices(topology)) {
    Certificate certificate = certify_prices(topology, prices);
    is_proved = certificate.bound == optimum.time;
    if (!is_proved) continue;
    optimum.certificate = std::move(certificate);
    break;
  }
  if (!is_proved) return std::nullopt;
  const Exact share(1, topology.num_ranks());
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Exact of_shard_time = width(topology, l) * share;
    optimum.gather.push_back(of_shard_time * to_exact(bounds.all_gather));
    optimum.reduce.push_back(of_shard_time * to_exact(bounds.reduce_scatter));
  }
  optimum.weight.assign(topology.num_ranks(), share);
  return optimum;
}

/// Adds up what the trees carry.
void add_flows(const TreeProgram& program, const std::vector<Exact>& weights,
               const Topology& topology, AllReduceOptimum& optimum) {
  const Exact total = std::accumulate(weights.begin(), weights.end(), Exact(0));
  for (std::size_t t = 0; t < weights.size(); ++t) {
    if (weights[t] == 0) continue;
    const PackedTree& tree = program.trees()[t];
    const Exact share = weights[t] / total;
    optimum.weight[index(tree.root)] += share;
    for (const TreeArc& arc : tree.gather) {
      for (const LinkId link : route_of(arc, program.routes()))
        optimum.gather[index(link)] += share;
    }
    for (const TreeArc& arc : tree.reduce) {
      for (const LinkId link : route_of(arc, program.routes()))
        optimum.reduce[index(link)] += share;
    }
  }
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Exact carried = optimum.gather[l] + optimum.reduce[l];
    optimum.time =
        std::max(optimum.time, Exact(carried * topology.num_ranks() / width(topology, l)));
  }
}

}  // namespace

bool is_balanced(const Topology& topology) {
  std::vector<Exact> surplus(topology.num_nodes(), 0);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    surplus[index(topology.links()[l].src)] -= width(topology, l);
    surplus[index(topology.links()[l].dst)] += width(topology, l);
  }
  for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
    if (topology.nodes()[node].is_switch() && surplus[node] != 0) return false;
  }
  return true;
}

AllReduceOptimum solve_all_reduce_lp(const Topology& topology) {
  AllReduceOptimum optimum;
  optimum.certificate.ranks = topology.num_ranks();
  if (topology.num_ranks() > 1) {
    if (auto simple = two_phases(topology)) return *std::move(simple);
  }
  optimum.gather.assign(topology.num_links(), 0);
  optimum.reduce.assign(topology.num_links(), 0);
  optimum.weight.assign(topology.num_ranks(), 0);
  if (topology.num_ranks() < 2) {
    optimum.weight[0] = 1;
    return optimum;
  }
  TreeProgram program(topology);
  const PackingLp::Solution solution = program.solve_exactly();
  add_flows(program, solution.weights, topology, optimum);
  std::vector<Exact> prices;
  for (const std::uint32_t row : program.row_of_link()) prices.push_back(solution.prices[row]);
  optimum.certificate = certify_prices(topology, prices);
  if (optimum.certificate.bound != optimum.time) {
    throw std::logic_error("all-reduce optimum: trees and cuts disagree");
  }
  return optimum;
}

}  // namespace multitree
