// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The all-reduce optimum: flows and cuts agree, and both with brute force and known values.
#include "algorithms/certificate/all_reduce_lp.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

std::uint32_t pick(std::mt19937_64& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random() % below);
}

/// A closed walk over all nodes, which connects them, and links at random.
Topology random_network(std::uint64_t seed, std::uint32_t most_nodes, bool switches, bool duplex) {
  std::mt19937_64 random(seed);
  const std::uint32_t ranks = 2 + pick(random, most_nodes - 1);
  const std::uint32_t nodes = ranks + (switches ? pick(random, most_nodes - ranks + 1) : 0);
  TopologyBuilder builder("random");
  for (std::uint32_t n = 0; n < nodes; ++n) {
    n < ranks ? builder.add_endpoint() : builder.add_switch("s" + std::to_string(n));
  }
  const std::uint32_t most_bandwidth = 1 + pick(random, 5);
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    const Bandwidth bandwidth{(1 + pick(random, most_bandwidth)) * std::uint64_t{1000000000}};
    if (a == b) return;
    if (duplex) {
      builder.add_duplex(NodeId{a}, NodeId{b}, bandwidth, Time{1});
    } else {
      builder.add_link(NodeId{a}, NodeId{b}, bandwidth, Time{1});
    }
  };
  std::vector<std::uint32_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  for (std::uint32_t i = nodes; i > 1; --i) std::swap(order[i - 1], order[pick(random, i)]);
  for (std::uint32_t i = 0; i < nodes; ++i) add(order[i], order[(i + 1) % nodes]);
  const std::uint32_t extra = nodes * pick(random, 3);
  for (std::uint32_t i = 0; i < extra; ++i) add(pick(random, nodes), pick(random, nodes));
  return std::move(builder).build();
}

Exact width(const Topology& topology, std::uint32_t link) {
  return Exact(topology.links()[link].bandwidth.bytes_per_second,
               topology.unit_bandwidth().bytes_per_second);
}

/// The cut conditions of the flows, for every node set; weights, balance and capacities too.
void expect_feasible(const AllReduceOptimum& optimum, const Topology& topology, bool all_cuts) {
  Exact total = 0;
  for (const Exact& weight : optimum.weight) total += weight;
  EXPECT_EQ(total, 1);
  std::vector<Exact> gather(topology.num_nodes(), 0), reduce(topology.num_nodes(), 0);
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    EXPECT_LE((optimum.gather[l] + optimum.reduce[l]) * topology.num_ranks(),
              optimum.time * width(topology, l));
    gather[index(topology.links()[l].src)] -= optimum.gather[l];
    gather[index(topology.links()[l].dst)] += optimum.gather[l];
    reduce[index(topology.links()[l].src)] -= optimum.reduce[l];
    reduce[index(topology.links()[l].dst)] += optimum.reduce[l];
  }
  for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
    if (!topology.nodes()[node].is_switch()) continue;
    EXPECT_EQ(gather[node], 0);
    EXPECT_EQ(reduce[node], 0);
  }
  if (!all_cuts) return;
  for (std::uint32_t set = 1; set + 1 < (1U << topology.num_nodes()); ++set) {
    const auto has = [&](NodeId node) { return ((set >> index(node)) & 1) != 0; };
    Exact leaving = 0, entering = 0, weight = 0;
    bool misses_a_rank = false;
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      if (has(topology.node_of(Rank{r}))) weight += optimum.weight[r];
      misses_a_rank |= !has(topology.node_of(Rank{r}));
    }
    for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
      const Link& link = topology.links()[l];
      if (has(link.src) && !has(link.dst)) leaving += optimum.gather[l];
      if (!has(link.src) && has(link.dst)) entering += optimum.reduce[l];
    }
    if (!misses_a_rank) continue;
    EXPECT_GE(leaving, weight);
    EXPECT_GE(entering, weight);
  }
}

/// Ranks over the least bandwidth between classes / (classes - 1), over all partitions.
Exact time_by_partitions(const Topology& topology) {
  const std::uint32_t n = topology.num_nodes();
  std::vector<std::uint32_t> of_node(n, 0);
  Exact worst = 0;
  const auto visit = [&](auto&& self, std::uint32_t node, std::uint32_t classes) -> void {
    if (node == n) {
      Exact between = 0;
      for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
        const Link& link = topology.links()[l];
        if (of_node[index(link.src)] != of_node[index(link.dst)]) between += width(topology, l);
      }
      if (classes > 1) worst = std::max(worst, Exact(2 * (classes - 1) * Exact(n) / between));
      return;
    }
    for (std::uint32_t c = 0; c <= classes; ++c) {
      of_node[node] = c;
      self(self, node + 1, std::max(classes, c + 1));
    }
  };
  visit(visit, 0, 0);
  return worst;
}

TEST(AllReduceLp, EqualsTheWorstPartitionOfDirectNetworks) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Topology topology = random_network(seed, 7, false, true);
    EXPECT_EQ(solve_all_reduce_lp(topology).time, time_by_partitions(topology)) << seed;
  }
}

TEST(AllReduceLp, FlowsCrossEveryCutOfSmallNetworks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Topology topology = random_network(seed, 8, seed % 3 != 0, seed % 2 == 0);
    const AllReduceOptimum optimum = solve_all_reduce_lp(topology);
    SCOPED_TRACE(seed);
    expect_feasible(optimum, topology, true);
    EXPECT_EQ(evaluate(optimum.certificate, topology), optimum.time);
  }
}

TEST(AllReduceLp, CutsProveTheTimeOfLargerNetworks) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Topology topology =
        random_network(seed, seed % 8 == 0 ? 40 : 20, seed % 3 != 0, seed % 2 == 0);
    const AllReduceOptimum optimum = solve_all_reduce_lp(topology);
    SCOPED_TRACE(seed);
    expect_feasible(optimum, topology, false);
    EXPECT_EQ(optimum.certificate.bound, optimum.time);
    EXPECT_EQ(evaluate(optimum.certificate, topology), optimum.time);
    EXPECT_FALSE(check_certificate(optimum.certificate, topology).has(CertificateFault::BadCut));
  }
}

/// Boxes of GPUs behind one switch each, a network adapter a GPU: shard times.
Topology boxes(const std::vector<std::uint32_t>& sizes, std::uint64_t nvlink) {
  TopologyBuilder builder("boxes");
  const Bandwidth adapter{1000000000}, inside{nvlink * 1000000000};
  std::vector<std::vector<NodeId>> gpus;
  for (const std::uint32_t size : sizes) {
    gpus.emplace_back();
    for (std::uint32_t i = 0; i < size; ++i) gpus.back().push_back(builder.add_endpoint());
  }
  const NodeId fabric = builder.add_switch("fabric");
  for (std::size_t box = 0; box < gpus.size(); ++box) {
    const NodeId hub = builder.add_switch("hub" + std::to_string(box));
    for (const NodeId gpu : gpus[box]) {
      builder.add_duplex(gpu, hub, inside, Time{1});
      builder.add_duplex(gpu, fabric, adapter, Time{1});
    }
  }
  return std::move(builder).build();
}

/// One switch; rank 0 has a slow link.
Topology slow_rank(std::uint32_t ranks, std::uint64_t times_slower) {
  TopologyBuilder builder("slow");
  for (std::uint32_t r = 0; r < ranks; ++r) builder.add_endpoint();
  const NodeId hub = builder.add_switch("hub");
  for (std::uint32_t r = 0; r < ranks; ++r) {
    builder.add_duplex(NodeId{r}, hub, Bandwidth{(r == 0 ? 1 : times_slower) * 1000000000},
                       Time{1});
  }
  return std::move(builder).build();
}

/// Time as a multiple of buffer / slowest link.
Exact relative(const Topology& topology) {
  return solve_all_reduce_lp(topology).time / topology.num_ranks();
}

TEST(AllReduceLp, KnownValues) {
  EXPECT_EQ(relative(boxes({4, 2}, 4)), Exact(1, 2));
  EXPECT_EQ(relative(boxes({6, 2}, 4)), Exact(1, 2));
  EXPECT_EQ(relative(boxes({4, 4, 2}, 8)), Exact(1, 2));
  EXPECT_EQ(relative(make_topology("mesh:4x4")), Exact(5, 8));
  EXPECT_EQ(relative(make_topology("mesh:8x8")), Exact(9, 16));
  for (const char* network : {"star:6", "fattree:4x4", "bigraph:4x8", "torus:4x4", "dgx-a100:2",
                              "dgx-a100:8", "dgx2", "hypercube:5"}) {
    const Topology topology = make_topology(network);
    const Rational both = compute_bounds(topology).all_reduce();
    EXPECT_EQ(solve_all_reduce_lp(topology).time, Exact(both.numerator(), both.denominator()))
        << network;
  }
}

TEST(AllReduceLp, OneSlowRankIsLessOfARoot) {
  // Data crosses the slow link once each way, unless the others' links are busier.
  for (const std::uint64_t slower : {2, 4}) {
    const Topology topology = slow_rank(8, slower);
    const Rational both = compute_bounds(topology).all_reduce();
    EXPECT_LT(solve_all_reduce_lp(topology).time, Exact(both.numerator(), both.denominator()));
  }
  EXPECT_EQ(relative(slow_rank(6, 4)), 1);
}

TEST(AllReduceLp, OneAndTwoRanks) {
  TopologyBuilder builder("one");
  builder.add_endpoint();
  const AllReduceOptimum alone = solve_all_reduce_lp(std::move(builder).build());
  EXPECT_EQ(alone.time, 0);
  EXPECT_EQ(alone.weight, std::vector<Exact>{1});
  EXPECT_EQ(solve_all_reduce_lp(make_topology("full:2")).time, 2);
}

}  // namespace
}  // namespace multitree
