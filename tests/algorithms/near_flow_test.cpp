// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flows from nearby against least cuts, by trying all of small networks, and against Boost's
/// maximum flow on larger ones.
#include "algorithms/near_flow_internal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/topologies/drawn_networks.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using cuts::CutFinder;
using cuts::Flow;
using cuts::NearFlow;

/// Some nodes have as much as anybody wants.
std::vector<bool> draw_sources(std::mt19937_64& random, const Topology& topology,
                               std::uint32_t sink) {
  std::vector<bool> sources(topology.num_nodes(), false);
  const std::uint64_t one_of = 1 + random() % topology.num_nodes();
  for (std::uint32_t v = 0; v < topology.num_nodes(); ++v) {
    sources[v] = v != sink && random() % one_of == 0;
  }
  return sources;
}

/// The least that leaves a set of nodes with all sources and without the sink.
Flow least_cut(const Topology& topology, const CutFinder& finder, std::uint32_t sink,
               const std::vector<bool>& sources) {
  std::uint32_t must = 0;
  for (std::uint32_t v = 0; v < topology.num_nodes(); ++v) must |= sources[v] ? 1U << v : 0U;
  Flow least = cuts::kMaxBandwidth;
  for (std::uint32_t set = 0; set < (1U << topology.num_nodes()); ++set) {
    if ((set & must) != must || (set >> sink & 1U) != 0) continue;
    Flow leaving = 0;
    for (const Link& link : topology.links()) {
      if ((set >> index(link.src) & 1U) != 0 && (set >> index(link.dst) & 1U) == 0) {
        leaving += finder.units(link);
      }
    }
    least = std::min(least, leaving);
  }
  return least;
}

/// By the flow algorithm of Boost that stands parallel edges.
Flow plain_flow(const Topology& topology, const CutFinder& finder, std::uint32_t sink,
                const std::vector<bool>& sources) {
  FlowGraph graph(topology.num_nodes() + 1);
  for (const Link& link : topology.links()) {
    const std::size_t edge = graph.add_edge_pair(index(link.src), index(link.dst));
    graph.set_capacity(edge, finder.units(link));
  }
  for (std::uint32_t v = 0; v < topology.num_nodes(); ++v) {
    if (sources[v])
      graph.set_capacity(graph.add_edge_pair(topology.num_nodes(), v), cuts::kMaxBandwidth);
  }
  return graph.edmonds_karp(topology.num_nodes(), sink);
}

/// That so much reaches the sink, and no more; whatever was asked before.
void expect_flow(NearFlow& near, std::uint32_t sink, Flow flow, Flow scale,
                 const std::vector<bool>& sources) {
  EXPECT_FALSE(near.reaches(NodeId{sink}, flow * scale + 1, scale, sources));
  EXPECT_TRUE(near.reaches(NodeId{sink}, flow * scale, scale, sources));
  EXPECT_TRUE(near.reaches(NodeId{sink}, 0, scale, sources));
  if (flow > 0) {
    EXPECT_TRUE(near.reaches(NodeId{sink}, flow * scale - 1, scale, sources));
  }
}

TEST(NearFlow, IsTheLeastCutOfSmallNetworks) {
  std::mt19937_64 random(13);
  for (const DrawnKind& kind : drawn_kinds(9)) {
    for (int i = 0; i < 150; ++i) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(kind), i));
      const Topology topology = draw_network(random, kind);
      const CutFinder finder(topology);
      NearFlow near(topology, finder);
      for (std::uint32_t sink = 0; sink < topology.num_nodes(); ++sink) {
        const auto sources = draw_sources(random, topology, sink);
        const Flow scale = 1 + static_cast<Flow>(random() % 5);
        expect_flow(near, sink, least_cut(topology, finder, sink, sources), scale, sources);
      }
    }
  }
}

TEST(NearFlow, IsThePlainFlowOfLargerNetworks) {
  std::mt19937_64 random(14);
  for (const DrawnKind& kind : drawn_kinds(40)) {
    for (int i = 0; i < 40; ++i) {
      SCOPED_TRACE(fmt::format("{} {}", to_string(kind), i));
      const Topology topology = draw_network(random, kind);
      const CutFinder finder(topology);
      NearFlow near(topology, finder);
      for (std::uint32_t sink = 0; sink < topology.num_nodes(); ++sink) {
        const auto sources = draw_sources(random, topology, sink);
        const Flow scale = 1 + static_cast<Flow>(random() % 5);
        expect_flow(near, sink, plain_flow(topology, finder, sink, sources), scale, sources);
      }
    }
  }
}

/// What is sent over a link may have to be taken back: the shortest path blocks both longer ones.
TEST(NearFlow, TakesBackWhatIsInTheWay) {
  TopologyBuilder builder("crossing");
  for (int i = 0; i < 8; ++i) builder.add_endpoint();
  // From 0 by 1 and 2 to 7; from 0 by 3 and 4 to 2; from 1 by 5 and 6 to 7.
  using Ends = std::pair<std::uint32_t, std::uint32_t>;
  for (const auto& [from, to] : std::vector<Ends>{
           {0, 1}, {1, 2}, {2, 7}, {0, 3}, {3, 4}, {4, 2}, {1, 5}, {5, 6}, {6, 7}, {7, 0}}) {
    builder.add_link(NodeId{from}, NodeId{to}, Bandwidth{1'000'000'000}, Time{});
  }
  const Topology topology = std::move(builder).build();
  const CutFinder finder(topology);
  NearFlow near(topology, finder);
  std::vector<bool> sources(8, false);
  sources[0] = true;
  expect_flow(near, 7, 2, 1, sources);
}

/// Flows that take long to see are left to others: it says no, though enough would arrive.
TEST(NearFlow, LooksOnlyNearby) {
  const Topology topology = make_topology("mesh:6000");
  const CutFinder finder(topology);
  NearFlow near(topology, finder);
  std::vector<bool> sources(topology.num_nodes(), false);
  sources[index(topology.node_of(Rank{0}))] = true;
  EXPECT_TRUE(near.reaches(topology.node_of(Rank{100}), 1, 1, sources));
  EXPECT_FALSE(near.reaches(topology.node_of(Rank{5999}), 1, 1, sources));
  EXPECT_TRUE(near.reaches(topology.node_of(Rank{100}), 1, 1, sources));
}

}  // namespace
}  // namespace multitree
