// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce certificates from prices of links.
#include "algorithms/certificate/price_certificate_internal.hpp"

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/exact_linear_internal.hpp"
#include "algorithms/certificate/metric_trees_internal.hpp"

namespace multitree {
namespace {

void add_prices(Certificate& certificate, const PricedCuts& gather, const PricedCuts& reduce) {
  for (std::uint32_t node = 0; node < gather.switch_price.size(); ++node) {
    // Partial sums travel the other way: what is charged on the way in there is refunded here.
    const Price in = gather.switch_price[node], out = reduce.switch_price[node];
    if (in == 0 && out == 0) continue;
    certificate.prices.push_back({.node = NodeId{node}, .gather = in, .reduce = -Exact(out)});
  }
}

/// Where every link has a mate, partial sums cross the same cuts the other way.
void add_mirrored_cuts(Certificate& certificate, PricedCuts both) {
  add_prices(certificate, both, both);
  for (PricedCuts::Cut& cut : both.cuts) {
    certificate.cuts.push_back(
        {.far = std::move(cut.far), .gather = cut.weight, .reduce = cut.weight});
  }
}

void add_cuts(Certificate& certificate, PricedCuts gather, PricedCuts reduce) {
  add_prices(certificate, gather, reduce);
  for (PricedCuts::Cut& cut : gather.cuts) {
    certificate.cuts.push_back({.far = std::move(cut.far), .gather = cut.weight, .reduce = 0});
  }
  for (PricedCuts::Cut& cut : reduce.cuts) {
    certificate.cuts.push_back({.far = std::move(cut.far), .gather = 0, .reduce = cut.weight});
  }
}

/// Scales the weights so that the cuts without the cheapest root sum to the bound.
void normalise(Certificate& certificate, const Topology& topology) {
  certificate.bound = evaluate(certificate, topology);
  Exact total = 0;
  std::vector<Exact> around(topology.num_nodes(), 0);
  for (const WeightedCut& cut : certificate.cuts) {
    const Exact weight = cut.gather + cut.reduce;
    total += weight;
    for (const NodeId node : cut.far) around[index(node)] += weight;
  }
  Exact most = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    most = std::max(most, around[index(topology.node_of(Rank{r}))]);
  }
  if (total == most) return;
  const Exact scale = certificate.bound / (total - most);
  for (WeightedCut& cut : certificate.cuts) {
    cut.gather *= scale;
    cut.reduce *= scale;
  }
  for (SwitchPrice& price : certificate.prices) {
    price.gather *= scale;
    price.reduce *= scale;
  }
}

}  // namespace

Certificate certify_prices(const Topology& topology, const std::vector<Exact>& link_prices) {
  const Price scale = common_denominator(link_prices);
  std::vector<Price> price;
  for (const Exact& value : link_prices) price.push_back(scaled(value, scale));
  Certificate certificate;
  certificate.ranks = topology.num_ranks();
  if (topology.is_symmetric()) {
    add_mirrored_cuts(certificate, cuts_of_undirected_tree(topology, price));
  } else {
    add_cuts(certificate, cuts_of_out_trees(topology, price),
             cuts_of_out_trees(topology.transposed(), price));
  }
  normalise(certificate, topology);
  return certificate;
}

}  // namespace multitree
