// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Algorithms with few rounds: their partners, rounds and depth as theory has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/report.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::uint32_t depth(const Schedule& schedule, const Topology& topology) {
  return make_report(schedule, topology, compute_bounds(topology),
                     certify(topology, schedule.collective, schedule.root).certificate, 1 << 20)
      .depth;
}

/// Whether each Reduce has its counterpart in the same step.
bool all_are_swaps(const Schedule& schedule) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, Rank, Rank>> all;
  for (const Transfer& t : schedule.transfers) all.insert({t.step, t.chunk, t.src, t.dst});
  for (const Transfer& t : schedule.transfers) {
    if (t.op != Op::Reduce || !all.contains({t.step, t.chunk, t.dst, t.src})) return false;
  }
  return true;
}

class RecursiveDoubling : public testing::TestWithParam<std::uint32_t> {};

/// One round a bit, and if ranks are folded one before and one after.
TEST_P(RecursiveDoubling, HasLogarithmicallyManyRoundsWhereEveryPairHasALink) {
  const std::uint32_t ranks = GetParam();
  const Topology topology = make_topology("full:" + std::to_string(ranks));
  const auto bits = static_cast<std::uint32_t>(std::bit_width(ranks)) - 1;
  const std::uint32_t rounds = bits + (std::has_single_bit(ranks) ? 0 : 2);
  const Schedule all_reduce = make_schedule("recursive-doubling", topology);
  EXPECT_EQ(all_reduce.num_steps(), rounds);
  // With few folded ranks no contribution is in both extra rounds.
  EXPECT_LE(depth(all_reduce, topology), rounds);
  EXPECT_GE(depth(all_reduce, topology), static_cast<std::uint32_t>(std::bit_width(ranks - 1)));
  EXPECT_EQ(all_reduce.chunks.size(), 1U);
  EXPECT_EQ(all_are_swaps(all_reduce), std::has_single_bit(ranks));
}

/// With one port a rank the number of those who have the vector doubles in every round.
TEST_P(RecursiveDoubling, BroadcastsInBinomialTrees) {
  const std::uint32_t ranks = GetParam();
  const Topology topology = make_topology("star:" + std::to_string(ranks));
  for (const Collective collective : {Collective::Broadcast, Collective::Reduce}) {
    const Rank root{ranks - 1};
    const Schedule schedule = make_schedule("recursive-doubling", topology, collective, root);
    EXPECT_EQ(schedule.num_steps(), static_cast<std::uint32_t>(std::bit_width(ranks - 1)));
    EXPECT_EQ(schedule.transfers.size(), ranks - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RecursiveDoubling,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33));

TEST(RecursiveDoubling, SwapsInOneStepHoweverBusyTheLinksAre) {
  for (const char* name : {"ring:16", "mesh:4x4", "torus:8x8", "fattree:8x4", "bigraph:4x16"}) {
    SCOPED_TRACE(name);
    const Topology topology = make_topology(name);
    const Schedule schedule = make_schedule("recursive-doubling", topology);
    EXPECT_TRUE(all_are_swaps(schedule));
    EXPECT_EQ(depth(schedule, topology), std::bit_width(topology.num_ranks()) - 1);
  }
}

TEST(RecursiveDoubling, UsesEveryLinkOfAHypercubeOnce) {
  const Topology topology = make_topology("hypercube:5");
  const Schedule schedule = make_schedule("recursive-doubling", topology);
  EXPECT_EQ(schedule.num_steps(), 5U);
  EXPECT_EQ(schedule.transfers.size(), topology.num_links());
}

/// What `rank` sends of `chunk`, in order: how far upwards along a ring of `size` ranks.
std::vector<std::uint32_t> offsets(const Schedule& schedule, std::uint32_t chunk,
                                   std::uint32_t rank, std::uint32_t size) {
  std::vector<std::uint32_t> list;
  for (const Transfer& t : schedule.transfers) {
    if (t.chunk != chunk || t.src != Rank{rank}) continue;
    list.push_back((index(t.dst) + size - index(t.src)) % size);
  }
  return list;
}

TEST(Swing, ExchangesAtDistancesOneOneThreeFive) {
  const Topology topology = make_topology("ring:16");
  const Schedule schedule = make_schedule("swing?variant=latency", topology);
  ASSERT_EQ(schedule.chunks.size(), 2U);  // the second is mirrored
  EXPECT_TRUE(all_are_swaps(schedule));
  EXPECT_EQ(depth(schedule, topology), 4U);
  for (std::uint32_t rank = 0; rank < 16; rank += 2) {
    EXPECT_THAT(offsets(schedule, 0, rank, 16), ElementsAre(1, 15, 3, 11));
    EXPECT_THAT(offsets(schedule, 1, rank, 16), ElementsAre(15, 1, 13, 5));
    EXPECT_THAT(offsets(schedule, 0, rank + 1, 16), ElementsAre(15, 1, 13, 5));
    EXPECT_THAT(offsets(schedule, 1, rank + 1, 16), ElementsAre(1, 15, 3, 11));
  }
}

TEST(Swing, TakesTurnsAmongTheDimensionsOfATorus) {
  const Topology topology = make_topology("torus:8x8");
  const Schedule schedule = make_schedule("swing?variant=latency", topology);
  ASSERT_EQ(schedule.chunks.size(), 4U);
  EXPECT_TRUE(all_are_swaps(schedule));
  EXPECT_EQ(depth(schedule, topology), 6U);
  // Rank 0 at (0, 0): x at +-1, +-1, +-3 and y, which is 8 ranks a row, in turns.
  EXPECT_THAT(offsets(schedule, 0, 0, 64), ElementsAre(1, 8, 7, 56, 3, 24));
  EXPECT_THAT(offsets(schedule, 1, 0, 64), ElementsAre(8, 1, 56, 7, 24, 3));
  EXPECT_THAT(offsets(schedule, 2, 0, 64), ElementsAre(7, 56, 1, 8, 5, 40));
  EXPECT_THAT(offsets(schedule, 3, 0, 64), ElementsAre(56, 7, 8, 1, 40, 5));
}

TEST(Swing, GoesOnInTheDimensionsThatHaveStepsLeft) {
  const Schedule schedule = make_schedule("swing?variant=latency", make_topology("torus:2x16"));
  EXPECT_THAT(offsets(schedule, 0, 0, 32), ElementsAre(1, 2, 30, 6, 22));
}

/// Far or near first is for links to say: the owner has its chunk from the start.
TEST(Swing, GathersOverTheSamePartners) {
  const Topology topology = make_topology("ring:16");
  const Schedule schedule = make_schedule("swing", topology, Collective::AllGather);
  EXPECT_EQ(depth(schedule, topology), 4U);
  EXPECT_THAT(offsets(schedule, 0, 0, 16), UnorderedElementsAre(11, 3, 15, 1));
}

struct SwingCase {
  std::string network;
  std::uint32_t depth;  ///< of an all-gather: the sum of ceil(log2(size))
};
void PrintTo(const SwingCase& c, std::ostream* out) { *out << c.network; }

class SwingNetworks : public testing::TestWithParam<SwingCase> {};

/// Also where sizes are not powers of two, nothing is sent to who has it.
TEST_P(SwingNetworks, SendEveryShardOnceInLogarithmicDepth) {
  const Topology topology = make_topology(GetParam().network);
  const Schedule gathering = make_schedule("swing", topology, Collective::AllGather);
  EXPECT_EQ(gathering.transfers.size(), gathering.chunks.size() * (topology.num_ranks() - 1));
  EXPECT_LE(depth(gathering, topology), GetParam().depth);
  const Schedule all_reduce = make_schedule("swing", topology);
  EXPECT_EQ(all_reduce.transfers.size(), 2 * gathering.transfers.size());
  // With one part of the data a chunk for each rank, and the same rounds.
  const Schedule one = make_schedule("swing?parts=one", topology, Collective::AllGather);
  EXPECT_EQ(one.chunks.size(), topology.num_ranks());
  EXPECT_EQ(one.transfers.size(), one.chunks.size() * (topology.num_ranks() - 1));
  EXPECT_LE(depth(one, topology), GetParam().depth);
}

INSTANTIATE_TEST_SUITE_P(Tori, SwingNetworks,
                         testing::Values(SwingCase{"ring:2", 1}, SwingCase{"ring:6", 3},
                                         SwingCase{"ring:10", 4}, SwingCase{"ring:12", 4},
                                         SwingCase{"ring:14", 4}, SwingCase{"ring:22", 5},
                                         SwingCase{"ring:32", 5}, SwingCase{"torus:6x10", 7},
                                         SwingCase{"torus:8x8", 6}, SwingCase{"torus:2x16", 5},
                                         SwingCase{"torus:4x6x2", 6}, SwingCase{"hypercube:5", 5}));

/// On 4x4x4 all partners are neighbours (distances 1 and 1): 63 steps of a sixth of a shard.
TEST(Swing, MeetsTheBoundOnASmallTorus) {
  const Topology topology = make_topology("torus:4x4x4");
  EXPECT_EQ(make_schedule("swing", topology, Collective::AllGather).num_steps(), 63U);
  EXPECT_EQ(make_schedule("swing?variant=latency", topology).num_steps(), 6U);
}

std::string refusal(const std::string& spec, const std::string& network) {
  try {
    make_schedule(spec, make_topology(network));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Swing, SaysWhatItDoesNotServe) {
  EXPECT_THAT(refusal("swing", "torus:4x3"), HasSubstr("one of 3"));
  EXPECT_THAT(refusal("swing", "mesh:4x4"), HasSubstr("ring, torus or hypercube"));
  EXPECT_THAT(refusal("swing?variant=latency", "torus:4x6"), HasSubstr("powers of two"));
  EXPECT_THAT(refusal("swing?parts=2", "torus:4x4"), HasSubstr("one, half or all, got '2'"));
  EXPECT_THAT(refusal("swing?variant=fast", "torus:4x4"), HasSubstr("bandwidth or latency"));
}

TEST(Swing, AcceptsItsOptionInEveryCollective) {
  const Topology topology = make_topology("torus:4x2");
  for (const Collective collective : all_collectives()) {
    EXPECT_NO_THROW(make_schedule("swing?variant=latency", topology, collective));
  }
}

/// The digits of `value` modulo 2^digits in base -2, lowest first, by division.
std::vector<int> negabinary(std::int64_t value, std::uint32_t digits) {
  std::vector<int> list;
  for (std::uint32_t i = 0; i < digits; ++i) {
    const int digit = value % 2 == 0 ? 0 : 1;
    list.push_back(digit);
    value = (value - digit) / -2;
  }
  return list;
}

class Bine : public testing::TestWithParam<std::uint32_t> {};

/// Of s rounds, round i reaches the ranks whose last s-i digits are equal (counted from the root)
/// from those that differ from them in just these.
TEST_P(Bine, BroadcastsByNegabinaryLabels) {
  const std::uint32_t ranks = GetParam(),
                      bits = static_cast<std::uint32_t>(std::bit_width(ranks) - 1);
  const Topology topology = make_topology("star:" + std::to_string(ranks));
  for (const std::uint32_t root : {0U, ranks / 3, ranks - 1}) {
    const Schedule schedule = make_schedule("bine", topology, Collective::Broadcast, Rank{root});
    EXPECT_EQ(schedule.num_steps(), bits);
    ASSERT_EQ(schedule.transfers.size(), ranks - 1);
    for (const Transfer& t : schedule.transfers) {
      const std::vector<int> to = negabinary(std::int64_t{index(t.dst)} - root, bits);
      const std::vector<int> from = negabinary(std::int64_t{index(t.src)} - root, bits);
      for (std::uint32_t digit = 0; digit < bits; ++digit) {
        EXPECT_EQ(to[digit] != from[digit], digit < bits - t.step);
        EXPECT_TRUE(digit >= bits - t.step || to[digit] == to[0]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Bine, testing::Values(1, 2, 4, 8, 16, 32, 64));

TEST(Bine, KeepsPartnersNear) {
  const Schedule schedule = make_schedule("bine", make_topology("star:16"), Collective::Broadcast);
  for (const Transfer& t : schedule.transfers) {
    const std::uint32_t up = (index(t.dst) + 16 - index(t.src)) % 16;
    EXPECT_EQ(std::min(up, 16 - up), (std::array{5U, 3U, 1U, 1U}[t.step])) << t.step;
  }
}

TEST(Bine, HasTheButterflyOfSwing) {
  const Topology topology = make_topology("ring:16");
  const Schedule exchange = make_schedule("bine?variant=latency", topology);
  EXPECT_TRUE(all_are_swaps(exchange));
  EXPECT_EQ(depth(exchange, topology), 4U);
  EXPECT_THAT(offsets(exchange, 0, 4, 16), ElementsAre(1, 15, 3, 11));
  EXPECT_THAT(offsets(exchange, 0, 7, 16), ElementsAre(15, 1, 13, 5));
  const Schedule gathering = make_schedule("bine", topology, Collective::AllGather);
  EXPECT_EQ(gathering.transfers.size(), 16U * 15U);
  EXPECT_EQ(depth(gathering, topology), 4U);
  EXPECT_THAT(offsets(gathering, 0, 0, 16), UnorderedElementsAre(11, 3, 15, 1));
  EXPECT_THAT(refusal("bine", "ring:6"), HasSubstr("power of two of ranks"));
}

}  // namespace
}  // namespace multitree
