// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Adds cables one at a time and certifies again.
#include "algorithms/design/improve.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certify.hpp"

namespace multitree {
namespace {

Certificate quick_certificate(const Topology& topology, Collective collective, Rank root) {
  return certify(topology, compute_bounds(topology), collective, root, 0).certificate;
}

/// Pairs of ranks with a cut between them.
std::vector<std::pair<Rank, Rank>> pairs_across(const Certificate& certificate,
                                                const Topology& topology) {
  const std::size_t ranks = topology.num_ranks();
  std::vector<std::vector<bool>> is_far;
  for (const WeightedCut& cut : certificate.cuts) {
    is_far.emplace_back(topology.num_nodes(), false);
    for (const NodeId node : cut.far) is_far.back()[index(node)] = true;
  }
  std::vector<std::pair<Rank, Rank>> pairs;
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = a + 1; b < ranks; ++b) {
      const std::size_t one = index(topology.node_of(Rank{a}));
      const std::size_t other = index(topology.node_of(Rank{b}));
      const bool crosses =
          std::ranges::any_of(is_far, [&](const auto& far) { return far[one] != far[other]; });
      if (crosses) pairs.emplace_back(Rank{a}, Rank{b});
    }
  }
  return pairs;
}

/// The latency of the slowest link.
Time usual_latency(const Topology& topology) {
  for (const Link& link : topology.links()) {
    if (link.bandwidth == topology.unit_bandwidth()) return link.latency;
  }
  return {};
}

}  // namespace

Topology with_cable(const Topology& topology, Rank first, Rank second, Bandwidth bandwidth,
                    Time latency) {
  TopologyBuilder builder(topology.name());
  for (const Node& node : topology.nodes()) {
    builder.add_node(node);
  }
  for (const Link& link : topology.links()) {
    builder.add_link(link.src, link.dst, link.bandwidth, link.latency);
  }
  builder.add_duplex(topology.node_of(first), topology.node_of(second), bandwidth, latency);
  return std::move(builder).build();
}

Improvements improve_by_cable(const Topology& topology, Collective collective, Rank root) {
  const Certificate now = quick_certificate(topology, collective, root);
  Improvements result;
  result.bandwidth = topology.unit_bandwidth();
  result.before = now.bound;
  const auto pairs = pairs_across(now, topology);
  result.possible = pairs.size();
  const std::size_t tries = std::min(pairs.size(), kMostCables);
  for (std::size_t i = 0; i < tries; ++i) {
    const auto [a, b] = pairs[i * pairs.size() / tries];
    const Topology more =
        with_cable(topology, a, b, topology.unit_bandwidth(), usual_latency(topology));
    Exact bound = quick_certificate(more, collective, root).bound;
    ++result.tried;
    if (bound < result.before) result.cables.push_back({a, b, std::move(bound)});
  }
  std::ranges::stable_sort(result.cables, {}, &Improvement::bound);
  return result;
}

}  // namespace multitree
