// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/coalesced.hpp"
#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::Each;

/// What each rank sends to another in a round, as messages: by rank, how many.
std::vector<std::size_t> messages(const Schedule& schedule) {
  const std::vector<std::uint32_t> levels = levels_of(schedule);
  std::set<std::tuple<Rank, std::uint32_t, Rank>> all;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    all.insert({schedule.transfers[i].src, levels[i], schedule.transfers[i].dst});
  }
  std::vector<std::size_t> by_rank(schedule.ranks);
  for (const auto& [src, level, dst] : all) ++by_rank[index(src)];
  return by_rank;
}

/// How many chunks rank 0 sends by how far ahead of it their receiver is.
std::map<std::uint32_t, std::size_t> sent_ahead(const Schedule& schedule) {
  std::map<std::uint32_t, std::size_t> ahead;
  for (const Transfer& t : schedule.transfers) {
    if (t.src == Rank{0}) ++ahead[index(t.dst)];
  }
  return ahead;
}

class Circulant : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Circulant, TakesTheLeastRoundsAndSendsNothingTwice) {
  const std::uint32_t ranks = GetParam();
  const std::size_t rounds = std::bit_width(ranks - 1);
  const Topology topology = make_topology("star:" + std::to_string(ranks));
  for (const Collective collective : {Collective::AllGather, Collective::ReduceScatter}) {
    const Schedule schedule = make_schedule("circulant", topology, collective);
    EXPECT_EQ(schedule.transfers.size(), std::size_t{ranks} * (ranks - 1));
    EXPECT_THAT(messages(schedule), Each(rounds));
  }
  const Schedule sums = make_schedule("circulant", topology);
  EXPECT_EQ(sums.transfers.size(), 2 * std::size_t{ranks} * (ranks - 1));
  EXPECT_THAT(messages(sums), Each(2 * rounds));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Circulant,
                         testing::Values(1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 16, 17, 24, 31, 33));

TEST(CirculantRounds, AreAsBruckAndTraeffHaveThem) {
  // 11 ranks: 6 ahead, then 3, then 2, then 1, where what others have by then is left out.
  const Topology star = make_topology("star:11");
  EXPECT_EQ(sent_ahead(make_schedule("circulant", star, Collective::AllGather)),
            (std::map<std::uint32_t, std::size_t>{{6, 1}, {3, 2}, {2, 3}, {1, 4}}));
  // Radix 3: 4 and 8 ahead, then 2, then 1.
  EXPECT_EQ(sent_ahead(make_schedule("circulant?radix=3", star, Collective::AllGather)),
            (std::map<std::uint32_t, std::size_t>{{4, 1}, {8, 1}, {2, 3}, {1, 5}}));
}

TEST(CirculantRounds, PassOneDimensionAfterTheOther) {
  // The far dimension first, in which each rank has one chunk; then neighbours send three.
  const Topology torus = make_topology("torus:3x3");
  EXPECT_EQ(sent_ahead(make_schedule("circulant?radix=3", torus, Collective::AllGather)),
            (std::map<std::uint32_t, std::size_t>{{3, 1}, {6, 1}, {1, 3}, {2, 3}}));
  // Between boxes pass only as many chunks as there are other boxes.
  const Topology boxes = make_topology("dgx-a100:3");
  EXPECT_EQ(sent_ahead(make_schedule("circulant", boxes, Collective::AllGather)),
            (std::map<std::uint32_t, std::size_t>{{16, 1}, {8, 1}, {4, 3}, {2, 6}, {1, 12}}));
}

TEST(CirculantRounds, PartsHaveLinksOfTheirOwn) {
  // 2 dimensions, both ways: every link of the torus is used as much as every other.
  const Topology torus = make_topology("torus:5x5");
  const Schedule schedule = make_schedule("circulant?parts=4", torus, Collective::AllGather);
  std::vector<std::size_t> uses(torus.num_links());
  for (const Transfer& t : schedule.transfers) {
    for (const LinkId link : schedule.route(t)) ++uses[index(link)];
  }
  EXPECT_THAT(uses, Each(uses[0]));
  EXPECT_GT(uses[0], 0U);
}

TEST(CirculantRounds, LongestMessagesFitTheLinks) {
  const auto most = [](const std::string& network) {
    return make_schedule("circulant", make_topology(network)).coalesces >> 10;
  };
  EXPECT_EQ(most("ring:3?bw=1MB/s"), 128U);
  EXPECT_EQ(most("ring:3?bw=16GB/s"), 128U);
  EXPECT_EQ(most("ring:3?bw=50GB/s"), 256U);
  EXPECT_EQ(most("ring:3?bw=900GB/s"), 1024U);
}

TEST(Rounds, AreAskedOfAnyAlgorithm) {
  const Topology torus = make_topology("torus:3x3");
  const Schedule schedule = make_schedule("multitree?rounds=1", torus);
  EXPECT_EQ(schedule.coalesces, most_together(torus));
  EXPECT_EQ(schedule.algorithm, "multitree?rounds=1");
  EXPECT_EQ(make_schedule("multitree", torus).coalesces, 0U);
  EXPECT_THROW(make_schedule("multitree?rounds=2", torus), Error);
}

TEST(CirculantRounds, AreKnownByTheirOtherNames) {
  EXPECT_EQ(find_algorithm("bruck").name, "circulant");
  EXPECT_EQ(find_algorithm("pat").name, "circulant");
  EXPECT_THROW(make_schedule("circulant?radix=1", make_topology("ring:3")), Error);
  EXPECT_THROW(make_schedule("circulant?parts=0", make_topology("ring:3")), Error);
}

}  // namespace
}  // namespace multitree
