// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random networks: closed walks of one bandwidth keep every node balanced.
#include "property_networks.hpp"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "networks.hpp"

namespace multitree::test {
namespace {

std::uint32_t pick(std::mt19937_64& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random() % below);
}

/// Nodes without links.
struct Nodes {
  std::uint32_t ranks = 1, switches = 0;
  [[nodiscard]] std::uint32_t count() const { return ranks + switches; }
};

Nodes pick_nodes(std::mt19937_64& random, std::uint32_t most_nodes, bool switches) {
  Nodes nodes;
  nodes.ranks = 1 + pick(random, most_nodes);
  if (switches) nodes.switches = pick(random, most_nodes - nodes.ranks + 1);
  return nodes;
}

/// Links of 1 to `most` GB/s.
class Links {
 public:
  Links(std::mt19937_64& random, const Nodes& nodes)
      : random_(random), builder_("random"), most_(1 + pick(random, 4)) {
    for (std::uint32_t n = 0; n < nodes.count(); ++n) {
      n < nodes.ranks ? builder_.add_endpoint() : builder_.add_switch("s" + std::to_string(n));
    }
  }
  [[nodiscard]] Bandwidth bandwidth() {
    return Bandwidth{(1 + pick(random_, most_)) * std::uint64_t{1'000'000'000}};
  }
  void duplex(std::uint32_t a, std::uint32_t b) {
    if (a != b) builder_.add_duplex(NodeId{a}, NodeId{b}, bandwidth(), kLatency);
  }
  void one_way(std::uint32_t a, std::uint32_t b, Bandwidth bandwidth) {
    if (a != b) builder_.add_link(NodeId{a}, NodeId{b}, bandwidth, kLatency);
  }
  /// As much into each node as out of it.
  void closed_walk(const std::vector<std::uint32_t>& walk) {
    const Bandwidth all = bandwidth();
    for (std::size_t i = 0; i < walk.size(); ++i)
      one_way(walk[i], walk[(i + 1) % walk.size()], all);
  }
  Topology build() { return std::move(builder_).build(); }

 private:
  static constexpr Time kLatency{1000};
  std::mt19937_64& random_;
  TopologyBuilder builder_;
  std::uint32_t most_;
};

/// A random order of the first `count` nodes of `nodes`.
std::vector<std::uint32_t> shuffled(std::mt19937_64& random, std::uint32_t nodes,
                                    std::uint32_t count) {
  std::vector<std::uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint32_t i = nodes; i > 1; --i) std::swap(order[i - 1], order[pick(random, i)]);
  order.resize(count);
  return order;
}

Topology duplex_links(std::mt19937_64& random, const Nodes& nodes) {
  Links links(random, nodes);
  const std::uint32_t n = nodes.count();
  const std::vector<std::uint32_t> order = shuffled(random, n, n);
  for (std::uint32_t i = 1; i < n; ++i) links.duplex(order[i], order[pick(random, i)]);
  for (std::uint32_t i = pick(random, 2 * n); i > 0; --i)
    links.duplex(pick(random, n), pick(random, n));
  return links.build();
}

Topology closed_walks(std::mt19937_64& random, const Nodes& nodes) {
  Links links(random, nodes);
  const std::uint32_t n = nodes.count();
  links.closed_walk(shuffled(random, n, n));
  for (std::uint32_t i = pick(random, 5); i > 0 && n > 1; --i) {
    links.closed_walk(shuffled(random, n, 2 + pick(random, n - 1)));
  }
  return links.build();
}

/// Links both ways that connect, some of other bandwidth each way, and more one way.
Topology some_one_way(std::mt19937_64& random, const Nodes& nodes) {
  Links links(random, nodes);
  const std::uint32_t n = nodes.count();
  for (std::uint32_t i = 1; i < n; ++i) {
    const std::uint32_t other = pick(random, i);
    links.one_way(i, other, links.bandwidth());
    links.one_way(other, i, links.bandwidth());
  }
  for (std::uint32_t i = pick(random, 2 * n); i > 0; --i) {
    links.one_way(pick(random, n), pick(random, n), links.bandwidth());
  }
  return links.build();
}

}  // namespace

Topology random_of_kind(std::mt19937_64& random, NetworkKind kind, std::uint32_t most_nodes) {
  const bool switches = kind != NetworkKind::Direct && kind != NetworkKind::DirectOneWay;
  const Nodes nodes = pick_nodes(random, most_nodes, switches);
  switch (kind) {
    case NetworkKind::Direct:
    case NetworkKind::Switched:
      return duplex_links(random, nodes);
    case NetworkKind::DirectOneWay:
      return pick(random, 2) == 0 ? some_one_way(random, nodes) : closed_walks(random, nodes);
    case NetworkKind::SwitchedOneWay:
      return closed_walks(random, nodes);
    case NetworkKind::SwitchedUnbalanced:
      return some_one_way(random, nodes);
  }
  return random_direct(random, 1, 0, 1);
}

}  // namespace multitree::test
