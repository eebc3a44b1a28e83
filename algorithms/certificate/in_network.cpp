// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The all-reduce optimum where switches add and copy.
#include "algorithms/certificate/in_network.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/exact_linear_internal.hpp"
#include "algorithms/certificate/tree_program_internal.hpp"
#include "algorithms/schedule.hpp"

namespace multitree {
namespace {

/// How often trees are looked for on networks that are too large to look until there are none.
constexpr std::uint32_t kRoundsOfLarge = 100;

/// What crosses a cut must do so once each way.
Certificate cut_certificate(const Topology& topology, std::vector<NodeId> far) {
  std::vector<NodeId> near;
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    if (!std::ranges::binary_search(far, NodeId{n})) near.push_back(NodeId{n});
  }
  Certificate certificate;
  certificate.ranks = topology.num_ranks();
  certificate.cuts.push_back({.far = std::move(far), .gather = 1, .reduce = 1});
  certificate.cuts.push_back({.far = std::move(near), .gather = 1, .reduce = 1});
  certificate.bound = evaluate(certificate, topology);
  return certificate;
}

/// Weights as whole numbers whose sum can be counted; rounded down where that takes too many bits.
std::vector<std::uint64_t> counted_weights(const std::vector<Exact>& weights) {
  const Exact all = std::accumulate(weights.begin(), weights.end(), Exact(0));
  const Price scale = common_denominator(weights);
  Price common = 0;
  for (const Exact& weight : weights) common = gcd(common, scaled(weight, scale));
  const bool fits = scaled(all, scale) / common <= kMaxWeights / 4;
  const Exact unit = fits ? Exact(common, scale) : Exact(all / Exact(Price(kMaxWeights / 4)));
  std::vector<std::uint64_t> whole;
  for (const Exact& weight : weights) {
    const Exact count = weight / unit;
    whole.push_back(static_cast<std::uint64_t>(Price(numerator(count) / denominator(count))));
  }
  return whole;
}

/// Shard times of so many trees of a program, whose unit of bandwidth is the greatest common one.
Exact time_of(const Exact& trees, const Topology& topology) {
  std::uint64_t unit = 0;
  for (const Link& link : topology.links()) unit = std::gcd(unit, link.bandwidth.bytes_per_second);
  return Exact(topology.num_ranks()) * topology.unit_bandwidth().bytes_per_second / (trees * unit);
}

}  // namespace

InNetworkOptimum solve_in_network(const Topology& topology, std::uint32_t most_nodes) {
  InNetworkOptimum optimum;
  optimum.certificate.ranks = topology.num_ranks();
  if (topology.num_ranks() < 2) {
    optimum.trees.emplace_back();
    return optimum;
  }
  optimum.certificate = cut_certificate(topology, narrowest_cut(topology));
  TreeProgram program(topology);
  const bool is_large = topology.num_nodes() > most_nodes;
  if (is_large) program.limit_rounds(kRoundsOfLarge);
  // time_of() is its own inverse.
  const PackingLp::Solution solution =
      program.solve_exactly(time_of(optimum.certificate.bound, topology));
  const std::vector<std::uint64_t> weights = counted_weights(solution.weights);
  for (std::size_t t = 0; t < weights.size(); ++t) {
    if (weights[t] == 0) continue;
    optimum.trees.push_back(program.trees()[t]);
    optimum.trees.back().weight = weights[t];
  }
  optimum.routes = program.routes();
  optimum.time = time_of(
      std::accumulate(solution.weights.begin(), solution.weights.end(), Exact(0)), topology);
  if (optimum.time == optimum.certificate.bound || is_large) return optimum;
  std::vector<Exact> prices;
  for (const std::uint32_t row : program.row_of_link()) prices.push_back(solution.prices[row]);
  Certificate better = optimum.certificate;
  better.cuts = heaviest_cuts(topology, prices);
  better.bound = evaluate(better, topology);
  if (better.bound > optimum.certificate.bound) optimum.certificate = std::move(better);
  return optimum;
}

Topology without_abilities(const Topology& topology) {
  TopologyBuilder builder(topology.name());
  builder.set_shape(topology.shape());
  for (const Node& node : topology.nodes()) builder.add_node({node.name, node.rank});
  for (const Link& link : topology.links()) {
    builder.add_link(link.src, link.dst, link.bandwidth, link.latency);
  }
  return std::move(builder).build();
}

}  // namespace multitree
