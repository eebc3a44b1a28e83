// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Double binary trees, halving-doubling and HDRM: structure and step counts known from theory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>
#include <vector>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

Topology network(const std::string& family, std::uint32_t size) {
  return make_topology(family + ":" + std::to_string(size));
}

class DoubleBinaryTree : public testing::TestWithParam<std::uint32_t> {};

TEST_P(DoubleBinaryTree, GivesEveryRankOneInnerPlaceAtMost) {
  const std::uint32_t ranks = GetParam();
  const Schedule schedule = make_schedule("double-binary-tree?segments=1", network("full", ranks));
  ASSERT_EQ(schedule.chunks.size(), 2U);
  // Who receives in the reduction is an inner node of the tree; the tree of chunk c is tree c.
  std::set<Rank> inner[2];
  std::vector<std::uint32_t> children[2] = {std::vector<std::uint32_t>(ranks, 0),
                                            std::vector<std::uint32_t>(ranks, 0)};
  for (const Transfer& t : schedule.transfers) {
    if (t.op != Op::Reduce) continue;
    inner[t.chunk].insert(t.dst);
    EXPECT_LE(++children[t.chunk][index(t.dst)], 2U);
  }
  if (ranks <= 2) return;  // a root of two ranks has to be inner
  for (const Rank rank : inner[0]) EXPECT_FALSE(inner[1].contains(rank)) << index(rank);
}

TEST_P(DoubleBinaryTree, IsLogarithmicallyDeep) {
  const std::uint32_t ranks = GetParam();
  const Schedule schedule = make_schedule("double-binary-tree?segments=1", network("full", ranks));
  EXPECT_LE(schedule.num_steps(), 2 * static_cast<std::uint32_t>(std::bit_width(ranks)) + 2);
}

INSTANTIATE_TEST_SUITE_P(Ranks, DoubleBinaryTree,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 31, 32, 33));

TEST(DoubleBinaryTree, PipelineApproachesTwiceTheVectorOnASwitch) {
  // Each rank sends and receives the vector twice (up and down): two vector times at best.
  const Schedule schedule = make_schedule("double-binary-tree?segments=64", network("star", 16));
  const double vectors = schedule.num_steps() / 128.0;
  EXPECT_GE(vectors, 2 * 15 / 16.0);
  EXPECT_LE(vectors, 3);
}

TEST(HalvingDoubling, IsOptimalOnASwitchForPowersOfTwo) {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 8U, 16U, 32U}) {
    const Topology topology = network("star", ranks);
    const auto steps = [&](Collective collective) {
      return make_schedule("halving-doubling", topology, collective).num_steps();
    };
    EXPECT_EQ(steps(Collective::AllGather), ranks - 1);
    EXPECT_EQ(steps(Collective::ReduceScatter), ranks - 1);
    EXPECT_EQ(steps(Collective::AllReduce), 2 * (ranks - 1));
  }
}

TEST(HalvingDoubling, SendsInAllRoundsAtOnceWhereEveryPairHasALink) {
  // Partners of different rounds have links of their own, so the last and largest round, half of
  // the ranks' chunks over one link, is all that takes time.
  for (const std::uint32_t ranks : {4U, 8U, 16U}) {
    EXPECT_EQ(make_schedule("halving-doubling", network("full", ranks), Collective::AllGather)
                  .num_steps(),
              ranks / 2);
  }
}

TEST(HalvingDoubling, FoldsRanksBeyondThePowerOfTwo) {
  for (const std::uint32_t ranks : {3U, 5U, 6U, 7U, 12U}) {
    const std::uint32_t core = std::bit_floor(ranks);
    const Schedule schedule = make_schedule("halving-doubling", network("star", ranks));
    EXPECT_EQ(schedule.chunks.size(), core);
    for (const Transfer& t : schedule.transfers) {
      if (index(t.src) >= core) {
        EXPECT_EQ(index(t.dst), index(t.src) - core);
      }
      if (index(t.dst) >= core) {
        EXPECT_EQ(index(t.src), index(t.dst) - core);
      }
    }
  }
}

std::string scattered(std::uint32_t rounds) {
  return "halving-doubling?scatter=" + std::to_string(rounds);
}

/// make_schedule() verifies.
TEST(HalvingDoubling, SendsFewerMessagesWhereFewerRoundsHalve) {
  for (std::uint32_t rounds = 1; rounds <= 6; ++rounds) {
    const std::uint32_t ranks = 1U << rounds;
    for (std::uint32_t halved = 1; halved <= rounds; ++halved) {
      const Schedule schedule = make_schedule(scattered(halved), network("full", ranks));
      const std::uint32_t chunks = 1U << halved;
      EXPECT_EQ(schedule.chunks.size(), chunks);
      EXPECT_EQ(schedule.transfers.size(), ranks * (2 * (chunks - 1) + rounds - halved));
    }
    EXPECT_THROW(make_schedule(scattered(rounds + 1), network("full", ranks)), Error);
  }
}

TEST(HalvingDoubling, FoldsNobodyWhereTheOddFactorIsSmall) {
  struct Case {
    std::uint32_t ranks, halved, chunks, messages;
  };
  const Case cases[] = {
      {3, 1, 3, 4},  {6, 1, 3, 5},    {6, 2, 6, 10},  {7, 1, 7, 12},
      {12, 1, 3, 6}, {12, 3, 12, 22}, {20, 1, 5, 10}, {36, 2, 18, 35},
  };
  for (const Case& one : cases) {
    for (const char* family : {"star", "full", "ring"}) {
      const Schedule schedule = make_schedule(scattered(one.halved), network(family, one.ranks));
      EXPECT_EQ(schedule.chunks.size(), one.chunks);
      std::vector<std::uint32_t> sent(one.ranks);
      for (const Transfer& t : schedule.transfers) ++sent[index(t.src)];
      if (std::string(family) == "ring") continue;  // where a swap may take two messages one way
      for (const std::uint32_t messages : sent) EXPECT_EQ(messages, one.messages) << one.ranks;
    }
  }
  for (const std::uint32_t ranks : {11U, 13U, 22U}) {  // too large a factor: folded
    EXPECT_EQ(make_schedule(scattered(2), network("star", ranks)).chunks.size(), 4U);
  }
}

TEST(HalvingDoubling, DividesByMoreThanTwoWhereItIsAskedTo) {
  const auto schedule = [](const std::string& options, std::uint32_t ranks) {
    return make_schedule("halving-doubling?" + options, network("full", ranks));
  };
  // On direct links all messages of a round go at once.
  const Schedule eight = schedule("scatter=1&radix=8", 8);
  EXPECT_EQ(eight.chunks.size(), 8U);
  EXPECT_EQ(eight.num_steps(), 2U);
  EXPECT_EQ(schedule("scatter=1&radix=8", 32).chunks.size(), 8U);
  EXPECT_EQ(schedule("scatter=2&radix=4", 32).chunks.size(), 16U);
  EXPECT_EQ(schedule("scatter=2&radix=4", 8).chunks.size(), 8U);    // 4, then 2
  EXPECT_EQ(schedule("scatter=2&radix=4", 12).chunks.size(), 12U);  // 3, then 4
  EXPECT_THROW(schedule("scatter=1&radix=3", 8), Error);
  EXPECT_THROW(schedule("radix=4", 8), Error);
}

TEST(HalvingDoubling, PartsFollowOnOneAnother) {
  const Topology boxes = make_topology("dgx-a100:2");
  const auto time = [&](const std::string& options) {
    return predict_time(make_schedule("halving-doubling?scatter=1&radix=8" + options, boxes), boxes,
                        4 << 20, {.message_overhead = parse_time("1us")});
  };
  EXPECT_EQ(make_schedule("halving-doubling?scatter=1&radix=8&parts=2", boxes).chunks.size(), 16U);
  // Inside a box 7 messages go out in 7 us and the last comes 1.2 us later; then 256 KiB take 10.5
  // us and 2 us for each part; then the same inside boxes again.
  EXPECT_NEAR(static_cast<double>(time("&parts=2").picoseconds), 39.3e6, 0.2e6);
  EXPECT_NEAR(static_cast<double>(time("").picoseconds), 50.0e6, 0.2e6);
  // Links between boxes wait for the first part and are idle during the last.
  const Schedule four = make_schedule("halving-doubling?scatter=1&radix=8&parts=4", boxes);
  for (std::size_t c = 0; c < four.chunks.size(); ++c) {
    EXPECT_EQ(four.chunks[c].weight, c < 8 || c >= 24 ? 1U : 2U) << c;
  }
  EXPECT_THROW(make_schedule("halving-doubling?parts=2", boxes), Error);
  EXPECT_THROW(make_schedule("halving-doubling?scatter=1&parts=65", boxes), Error);
}

/// Links of 300 GB/s inside a box, and of 25 GB/s over which all ranks are as near.
TEST(Pack, TakesNoSlowLinkWhereAFastOneIsAsShort) {
  const Topology boxes = make_topology("dgx-a100:2");
  const Schedule schedule = make_schedule("halving-doubling?scatter=4", boxes);
  for (const Transfer& t : schedule.transfers) {
    if (index(t.src) / 8 != index(t.dst) / 8) continue;
    for (const LinkId link : schedule.route(t)) {
      EXPECT_EQ(boxes.link(link).bandwidth.bytes_per_second, 300'000'000'000U);
    }
  }
}

/// What a box has summed passes once each way between two boxes, an eighth by each of its ranks.
TEST(HalvingDoubling, KeepsBoxesApartWithTheNearestFirst) {
  const Schedule schedule = make_schedule(scattered(3), make_topology("dgx-a100:2"));
  std::uint32_t between = 0;
  for (const Transfer& t : schedule.transfers) {
    if (index(t.src) / 8 == index(t.dst) / 8) continue;
    EXPECT_EQ(index(t.src) % 8, index(t.dst) % 8);
    EXPECT_EQ(t.chunk, index(t.src) % 8);
    ++between;
  }
  EXPECT_EQ(between, 16U);
}

TEST(HalvingDoubling, BroadcastScattersBeforeItGathers) {
  for (const std::uint32_t root : {0U, 5U}) {
    const Schedule schedule =
        make_schedule("halving-doubling", network("star", 8), Collective::Broadcast, Rank{root});
    EXPECT_EQ(schedule.num_steps(), 14U);  // 7 eighths each
  }
}

TEST(Hdrm, SharesNoLinkInARound) {
  for (const std::string name :
       {"bigraph:4x8", "bigraph:4x16", "bigraph:2x4", "bigraph:2x8", "bigraph:1x4"}) {
    const Topology topology = make_topology(name);
    const Schedule schedule = make_schedule("hdrm", topology, Collective::AllGather);
    EXPECT_EQ(schedule.num_steps(), topology.num_ranks() - 1) << name;
    // Partners are always in opposite layers: rank to switch, across, switch to rank.
    for (const Transfer& t : schedule.transfers) EXPECT_EQ(t.route_size, 3U);
    EXPECT_EQ(make_schedule("hdrm", topology).num_steps(), 2 * (topology.num_ranks() - 1));
  }
}

}  // namespace
}  // namespace multitree
