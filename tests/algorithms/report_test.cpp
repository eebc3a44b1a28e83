// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reports of schedules and networks that generators do not make.
#include "algorithms/report.hpp"

#include <gtest/gtest.h>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"
#include "topologies/topology.hpp"

namespace multitree {
namespace {

/// Each rank of a pair adds the other's value to its own in the same step.
Schedule swap_on_a_pair(const Topology& topology) {
  Schedule schedule;
  schedule.ranks = 2;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1)};
  for (const Link& link : topology.links()) {
    const LinkId id = topology.out_links(link.src)[0];
    schedule.add(0, Op::Reduce, 0, *topology.node(link.src).rank, *topology.node(link.dst).rank,
                 {&id, 1});
  }
  schedule.canonicalize();
  return schedule;
}

TEST(Report, TransfersOfOneStepDoNotDependOnEachOther) {
  const Topology topology = make_topology("full:2");
  const Schedule schedule = swap_on_a_pair(topology);
  EXPECT_EQ(make_report(schedule, topology, compute_bounds(topology),
                        certify(topology, Collective::AllReduce).certificate, 1024)
                .depth,
            1U);
}

TEST(Report, AnExchangeIsComparedWithTheBoundAsAWhole) {
  // The pair swaps the whole buffer in one step, which is what two steps of half a buffer take.
  const Topology topology = make_topology("full:2");
  const ScheduleReport report =
      make_report(swap_on_a_pair(topology), topology, compute_bounds(topology),
                  certify(topology, Collective::AllReduce).certificate, 1024);
  EXPECT_EQ(report.steps, 1U);
  EXPECT_EQ(report.bound_steps, 1U);
  EXPECT_EQ(report.bound_total_steps, 1U);
  EXPECT_EQ(report.bound_ratio, 1.0);
}

TEST(Report, ContributionsTravelAsFarAsTheirPaths) {
  const auto hops = [](const char* network, const char* algorithm, Collective collective) {
    const Topology topology = make_topology(network);
    return make_report(make_schedule(algorithm, topology, collective), topology,
                       compute_bounds(topology), certify(topology, collective).certificate, 1 << 20)
        .mean_hops;
  };
  // A ring sums up one rank after the other; halving moves half of what is left, three times.
  EXPECT_DOUBLE_EQ(hops("ring:8", "ring", Collective::AllReduce), 3.5);
  EXPECT_DOUBLE_EQ(hops("ring:8", "ring", Collective::ReduceScatter), 3.5);
  EXPECT_DOUBLE_EQ(hops("full:8", "halving-doubling", Collective::AllReduce), 1.5);
  EXPECT_DOUBLE_EQ(hops("full:8", "recursive-doubling", Collective::AllReduce), 1.5);
  EXPECT_EQ(hops("ring:8", "ring", Collective::AllGather), 0);
  EXPECT_EQ(hops("mesh:1", "ring", Collective::AllReduce), 0);
  // From a rank to all, itself included, it is 4 links in the mean.
  EXPECT_GE(hops("torus:8x8", "multitree", Collective::AllReduce), 4);
  EXPECT_LE(hops("torus:8x8", "multitree", Collective::AllReduce), 7);
}

TEST(Report, LargeWeightsAndOddBandwidthsDoNotOverflow) {
  // Bandwidths without a common unit make bounds of 35-bit fractions, weights are 32 bits.
  TopologyBuilder builder("odd");
  for (std::uint32_t r = 0; r < 16; ++r) builder.add_endpoint();
  for (std::uint32_t r = 0; r < 16; ++r) {
    builder.add_duplex(NodeId{r}, NodeId{(r + 1) % 16}, Bandwidth{16'000'000'001U + r * 1'000'003},
                       Time{1000});
  }
  const Topology topology = std::move(builder).build();
  Schedule schedule;
  schedule.ranks = 16;
  for (std::uint32_t c = 0; c < 32; ++c) {
    schedule.chunks.push_back(Chunk::rooted(Rank{c / 2}, c, 4'294'967'291U - c * 1'000'003));
  }
  const LinkId link{0};
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, {&link, 1});
  const ScheduleReport report =
      make_report(schedule, topology, compute_bounds(topology),
                  certify(topology, Collective::AllReduce).certificate, 1024);
  // 15 shards over two links a little faster than the slowest; the largest chunk is 1/32 of the
  // buffer and 0.4 %.
  EXPECT_EQ(report.bound_steps, 15U);
  EXPECT_EQ(report.bound_total_steps, 30U);
  EXPECT_NEAR(report.step_fraction, 1.0 / 32, 0.001);
}

}  // namespace
}  // namespace multitree
