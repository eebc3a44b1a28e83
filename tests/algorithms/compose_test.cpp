// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reversal, sequence and pipelining; and what the registry makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/compose.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

TEST(Compose, ReversedByMatesTurnsEveryTransfer) {
  const Topology topology = make_topology("star:3");
  const Schedule gather = make_schedule("ring", topology, Collective::AllGather);
  const Schedule scatter = reversed_by_mates(gather, topology);
  EXPECT_EQ(scatter.collective, Collective::ReduceScatter);
  ASSERT_EQ(scatter.transfers.size(), gather.transfers.size());
  EXPECT_EQ(scatter.num_steps(), gather.num_steps());
  for (const Transfer& t : scatter.transfers) EXPECT_EQ(t.op, Op::Reduce);
  EXPECT_TRUE(verify(scatter, topology).ok());
}

TEST(Compose, ReversedOnTransposedKeepsLinkIds) {
  TopologyBuilder builder("one-way ring");
  for (int i = 0; i < 3; ++i) builder.add_endpoint();
  for (std::uint32_t i = 0; i < 3; ++i) builder.add_link(NodeId{i}, NodeId{(i + 1) % 3}, {1}, {});
  const Topology topology = std::move(builder).build();
  const Schedule broadcast =
      make_schedule("ring?segments=1", topology.transposed(), Collective::Broadcast, Rank{1});
  const Schedule reduce = reversed_on_transposed(broadcast);
  // The broadcast goes 1 -> 0 -> 2 against the ring, the reduction 2 -> 0 -> 1 along it.
  ASSERT_EQ(reduce.transfers.size(), 2U);
  EXPECT_EQ(reduce.transfers[0].src, Rank{2});
  EXPECT_THAT(reduce.route(reduce.transfers[0]), testing::ElementsAre(LinkId{2}));
  EXPECT_EQ(reduce.transfers[1].src, Rank{0});
  EXPECT_THAT(reduce.route(reduce.transfers[1]), testing::ElementsAre(LinkId{0}));
  EXPECT_TRUE(verify(reduce, topology).ok());
}

TEST(Compose, AllReduceIsOneAfterTheOther) {
  const Topology topology = make_topology("torus:3x3");
  const Schedule scatter = make_schedule("multitree", topology, Collective::ReduceScatter);
  const Schedule gather = make_schedule("ring", topology, Collective::AllGather);
  const Schedule both = all_reduce_of(scatter, gather);
  EXPECT_EQ(both.num_steps(), scatter.num_steps() + gather.num_steps());
  EXPECT_TRUE(verify(both, topology).ok());
}

TEST(Compose, PipelineOfAChainStartsASegmentEveryStep) {
  const Topology topology = make_topology("mesh:5");
  const Schedule chain = make_schedule("ring?segments=1", topology, Collective::Broadcast);
  EXPECT_EQ(chain.num_steps(), 4U);
  const Schedule segmented = pipelined(chain, 10, topology);
  EXPECT_EQ(segmented.num_steps(), 4U + 9U);
  EXPECT_EQ(segmented.chunks.size(), 10U);
  EXPECT_TRUE(verify(segmented, topology).ok());
}

TEST(Compose, PipelineOfAStarTreeKeepsTheRootBusy) {
  const Topology topology = make_topology("star:8");
  // A binomial tree: the root sends three times, so three steps a segment at best.
  const Schedule schedule = make_schedule("multitree?segments=7", topology, Collective::Broadcast);
  EXPECT_EQ(schedule.num_steps(), 3U * 7U);
}

TEST(Compose, PiecesOfAChunkFollowEachOther) {
  const Topology topology = make_topology("torus:3x4");
  for (const std::string spec : {"multitree", "ring", "halving-doubling", "allreduce-optimal"}) {
    for (const Collective collective : all_collectives()) {
      SCOPED_TRACE(spec + " " + std::string(to_string(collective)));
      const Schedule whole = make_schedule(spec, topology, collective, Rank{5});
      const Schedule cut = make_schedule(spec + "?cut=3", topology, collective, Rank{5});
      EXPECT_EQ(cut.algorithm, spec + "?cut=3");
      ASSERT_EQ(cut.chunks.size(), 3 * whole.chunks.size());
      EXPECT_EQ(cut.num_steps(), 3 * whole.num_steps());
      ASSERT_EQ(cut.transfers.size(), 3 * whole.transfers.size());
      for (const Transfer& t : cut.transfers) {
        EXPECT_EQ(cut.chunks[t.chunk], whole.chunks[t.chunk / 3]);
        EXPECT_EQ(t.step % 3, t.chunk % 3);
        const bool is_there = std::ranges::any_of(whole.transfers, [&](const Transfer& w) {
          return w.step == t.step / 3 && w.chunk == t.chunk / 3 && w.src == t.src &&
                 w.dst == t.dst && w.op == t.op && std::ranges::equal(whole.route(w), cut.route(t));
        });
        EXPECT_TRUE(is_there);
      }
    }
  }
}

/// One that chooses among others says what it has chosen and that it was cut.
TEST(Compose, PiecesAreNamed) {
  const Topology topology = make_topology("ring:3");
  const Schedule whole = make_schedule("auto", topology),
                 cut = make_schedule("auto?cut=2", topology);
  const std::string name = whole.algorithm;
  EXPECT_EQ(cut.algorithm, name + (name.find('?') == std::string::npos ? "?cut=2" : "&cut=2"));
}

std::string message_of(std::string_view spec, const Topology& topology, ErrorCode code,
                       Collective collective = Collective::AllReduce, Rank root = Rank{0}) {
  try {
    make_schedule(spec, topology, collective, root);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(Registry, IsSortedAndDescribed) {
  std::string_view last;
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_LT(last, algorithm.name);
    EXPECT_FALSE(algorithm.summary.empty());
    EXPECT_FALSE(algorithm.source.empty());
    EXPECT_EQ(&find_algorithm(algorithm.name), &algorithm);
    last = algorithm.name;
  }
}

TEST(Registry, SaysWhatIsWrong) {
  const Topology topology = make_topology("torus:3x3");
  EXPECT_THAT(message_of("rng", topology, ErrorCode::InvalidArgument),
              HasSubstr("multitree, recursive-doubling, ring"));
  EXPECT_THAT(message_of("ring:4", topology, ErrorCode::InvalidArgument), HasSubstr("no dims"));
  EXPECT_THAT(message_of("ring?color=red", topology, ErrorCode::InvalidArgument),
              HasSubstr("'color'"));
  EXPECT_THAT(
      message_of("ring", topology, ErrorCode::InvalidArgument, Collective::Broadcast, Rank{9}),
      HasSubstr("below 9, got 9"));
  EXPECT_THAT(message_of("ring?cut=0", topology, ErrorCode::InvalidArgument), HasSubstr("cut"));
  EXPECT_THAT(message_of("hdrm", topology, ErrorCode::Unsupported), HasSubstr("bigraph"));
  EXPECT_THAT(message_of("hdrm", make_topology("bigraph:3x8"), ErrorCode::Unsupported),
              HasSubstr("power of two"));
  EXPECT_THAT(message_of("ring2d", make_topology("torus:3x3x3"), ErrorCode::Unsupported),
              HasSubstr("has 3"));
  EXPECT_THAT(message_of("ring2d", make_topology("full:4"), ErrorCode::Unsupported),
              HasSubstr("torus or mesh"));
}

TEST(Registry, AcceptsAnOptionOfAnotherCollective) {
  const Topology topology = make_topology("torus:3x3");
  for (const std::string spec :
       {"multitree?segments=4", "ring?segments=4", "ring2d?segments=4",
        "bidirectional-ring?segments=4", "double-binary-tree?segments=4"}) {
    for (const Collective collective : all_collectives()) {
      EXPECT_EQ(make_schedule(spec, topology, collective).algorithm, spec);
    }
  }
}

}  // namespace
}  // namespace multitree
