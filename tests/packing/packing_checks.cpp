// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks of packings, and random networks.
#include "packing_checks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "algorithms/bounds.hpp"

namespace multitree {
namespace {

/// A route starts and ends at the ranks of its arc and passes only switches, none twice.
void expect_route(const Topology& topology, const TreeArc& arc, std::span<const LinkId> route) {
  ASSERT_FALSE(route.empty());
  EXPECT_EQ(topology.link(route.front()).src, topology.node_of(arc.src));
  EXPECT_EQ(topology.link(route.back()).dst, topology.node_of(arc.dst));
  std::vector<NodeId> between;
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    const NodeId node = topology.link(route[i]).dst;
    EXPECT_EQ(node, topology.link(route[i + 1]).src);
    EXPECT_TRUE(topology.node(node).is_switch());
    EXPECT_EQ(std::ranges::count(between, node), 0);
    between.push_back(node);
  }
}

void expect_spans(const PackedTree& tree, const TreePacking& packing, const Topology& topology) {
  std::vector<bool> reached(topology.num_ranks(), false);
  reached[index(tree.root)] = true;
  for (const TreeArc& arc : tree.gather) {
    EXPECT_TRUE(reached[index(arc.src)]);
    EXPECT_FALSE(reached[index(arc.dst)]);
    reached[index(arc.dst)] = true;
    expect_route(topology, arc, packing.route(arc));
  }
  EXPECT_EQ(std::ranges::count(reached, false), 0);
  EXPECT_TRUE(tree.reduce.empty());
}

}  // namespace

ScaledDemand scale_to_all_gather_bound(const Topology& topology) {
  const Rational bound = compute_bounds(topology).all_gather;
  const auto unit = static_cast<std::int64_t>(topology.unit_bandwidth().bytes_per_second);
  ScaledDemand scaled;
  std::vector<Rational> shards;
  for (const Link& link : topology.links()) {
    shards.push_back(bound *
                     Rational(static_cast<std::int64_t>(link.bandwidth.bytes_per_second), unit));
    scaled.trees = std::lcm(scaled.trees, shards.back().denominator());
  }
  for (const Rational& share : shards) {
    scaled.capacity.push_back(share.numerator() * (scaled.trees / share.denominator()));
  }
  return scaled;
}

void expect_packs(const TreePacking& packing, const Topology& topology,
                  std::span<const std::int64_t> capacity, std::span<const std::int64_t> demand) {
  ASSERT_EQ(packing.ranks, topology.num_ranks());
  std::vector<std::int64_t> carried(topology.num_links(), 0), packed(topology.num_ranks(), 0);
  for (const PackedTree& tree : packing.trees) {
    ASSERT_GT(tree.weight, 0U);
    expect_spans(tree, packing, topology);
    packed[index(tree.root)] += static_cast<std::int64_t>(tree.weight);
    for (const TreeArc& arc : tree.gather) {
      for (const LinkId link : packing.route(arc)) {
        carried[index(link)] += static_cast<std::int64_t>(tree.weight);
      }
    }
  }
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) EXPECT_EQ(packed[r], demand[r]);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) EXPECT_LE(carried[l], capacity[l]);
}

std::uint32_t pick(std::mt19937_64& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random() % below);
}

Topology random_network(std::mt19937_64& random, const RandomNetwork& shape) {
  TopologyBuilder builder("random");
  for (std::uint32_t r = 0; r < shape.ranks; ++r) builder.add_endpoint();
  for (std::uint32_t s = 0; s < shape.switches; ++s) builder.add_switch(fmt::format("s{}", s));
  const std::uint32_t nodes = shape.ranks + shape.switches;
  const auto connect = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t bandwidth = 1 + pick(random, shape.most_bandwidth);
    builder.add_duplex(NodeId{a}, NodeId{b}, Bandwidth{bandwidth * 1'000'000}, Time{0});
  };
  for (std::uint32_t v = 1; v < nodes; ++v) connect(v, pick(random, v));
  for (std::uint32_t i = 0; i < shape.extra_links && nodes > 1; ++i) {
    const std::uint32_t a = pick(random, nodes), b = pick(random, nodes - 1);
    connect(a, b < a ? b : b + 1);
  }
  return std::move(builder).build();
}

}  // namespace multitree
