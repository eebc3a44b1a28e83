// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The votes of the runtime in every order of what may happen: no two parts both go on, all that go
/// on agree on who is in, nobody waits for ever.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "runtime/job/shrink_vote_internal.hpp"
#include "tests/world/plan_model.hpp"
#include "tests/world/shrink_model.hpp"

namespace multitree::runtime::world {
namespace {

class ShrinkVoteModel : public testing::TestWithParam<ShrinkBounds> {};

TEST_P(ShrinkVoteModel, NoTwoPartsBothGoOn) {
  const ShrinkResult result = explore_shrink(GetParam());
  EXPECT_EQ(result.wrong, "") << fmt::format("{}", fmt::join(result.trace, "\n"));
  EXPECT_GT(result.went_on, 0U);
  EXPECT_GT(result.states, 100U);
  RecordProperty("states", std::to_string(result.states));
  fmt::print("{} states, of which {} in two parts after the death of one that had gone on\n",
             result.states, result.split_after_death);
}

/// Ranks, deaths, cuts, one way, processes that end, deadlines that are long, epochs.
INSTANTIATE_TEST_SUITE_P(
    Bounds, ShrinkVoteModel,
    testing::Values(
        ShrinkBounds{.ranks = 2, .deaths = 1, .cuts = 2, .one_way = true, .exits = true},
        ShrinkBounds{.ranks = 3, .deaths = 2, .cuts = 2, .one_way = true, .exits = true},
        ShrinkBounds{.ranks = 4, .deaths = 1, .cuts = 0, .exits = true},
        ShrinkBounds{.ranks = 4, .deaths = 1, .cuts = 1, .patient = true, .epochs = 1},
        ShrinkBounds{.ranks = 4, .deaths = 2, .cuts = 0, .patient = true, .epochs = 1},
        ShrinkBounds{.ranks = 5, .deaths = 1, .cuts = 0, .patient = true}));

std::uint64_t gtest_seed() {
  return static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed());
}

class ShrinkVoteWalks : public testing::TestWithParam<ShrinkBounds> {};

/// By hand, others each time: --gtest_filter='*Walks*' --gtest_shuffle --gtest_repeat=100
TEST_P(ShrinkVoteWalks, NoTwoPartsBothGoOn) {
  constexpr std::uint64_t kWalks = 10'000;
  const std::uint64_t run = GTEST_FLAG_GET(shuffle) ? gtest_seed() : 0;
  const ShrinkResult result = walk_shrink(GetParam(), 1 + run * kWalks, kWalks);
  EXPECT_EQ(result.wrong, "") << fmt::format("{}", fmt::join(result.trace, "\n"));
  EXPECT_GT(result.died_in_telling, kWalks / 20);
  EXPECT_GT(result.went_on, kWalks / 20);
  EXPECT_GT(result.stopped, 0U);
  fmt::print(
      "{} steps; {} coordinators died that had told some and not all; {} walks in which "
      "some go on, {} of them in two parts after a death, {} others\n",
      result.states, result.died_in_telling, result.went_on, result.split_after_death,
      result.stopped);
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, ShrinkVoteWalks,
    testing::Values(ShrinkBounds{.ranks = 4, .deaths = 2, .cuts = 1, .exits = true},
                    ShrinkBounds{.ranks = 5, .deaths = 2, .cuts = 0, .exits = true},
                    ShrinkBounds{.ranks = 5, .deaths = 2, .cuts = 2, .exits = true},
                    ShrinkBounds{
                        .ranks = 5, .deaths = 2, .cuts = 2, .one_way = true, .exits = true},
                    ShrinkBounds{.ranks = 5, .deaths = 2, .cuts = 2, .patient = true}));

/// What the model found. Ranks 2, 3 and 4 ask at rank 0 and go on without 0 and 1, which do not.
/// The coordinator dies when it has told 2 and 3. Rank 4, which was not told, meets rank 1: they
/// are two of five, the lower half. Ranks 2 and 3 meet at 2: they are two of three, and must not
/// count alone what they were told.
TEST(ShrinkVote, WhoWasToldAndWhoWasNotDoNotBothGoOn) {
  const Members told{Origin{2}, Origin{3}, Origin{4}}, here{Origin{2}, Origin{3}};
  const Members there{Origin{1}, Origin{4}};
  ShrinkVote at_0(5, true), at_1(5, false), at_2(5, false);
  at_0.go_on_with(told, {});
  at_2.adopt({Origin{2}, at_0.epoch(), told, {}, at_0.unsettled()});

  using Verdict = ShrinkVote::Verdict;
  const std::vector<Presence> one_gone{Presence::Gone, Presence::There, Presence::There};
  const Members others = at_1.others(there, {});
  EXPECT_EQ(others, (Members{Origin{0}, Origin{2}, Origin{3}}));
  EXPECT_EQ(ShrinkVote::judge(there, others, one_gone, true).verdict, Verdict::GoOn);

  EXPECT_EQ(ShrinkVote::judge(here, {Origin{4}}, {Presence::There}, true).verdict, Verdict::GoOn);
  const Members rivals = at_2.rivals(here, {});
  EXPECT_EQ(rivals, (Members{Origin{0}, Origin{1}, Origin{4}}));
  EXPECT_EQ(at_2.judge_rivals(here, rivals, one_gone, false).verdict, Verdict::Wait);
  EXPECT_EQ(at_2.judge_rivals(here, rivals, one_gone, true).verdict, Verdict::Stop);

  // Once all three are known to have been told nobody else counts.
  at_2.adopt({Origin{3}, at_0.epoch(), told, {}, {}});
  EXPECT_TRUE(at_2.rivals(here, {}).empty());
}

class PlanVoteModel : public testing::TestWithParam<PlanBounds> {};

TEST_P(PlanVoteModel, AllRunEachCallAlike) {
  const PlanResult result = explore_plans(GetParam());
  EXPECT_EQ(result.wrong, "") << fmt::format("{}", fmt::join(result.trace, "\n"));
  EXPECT_GT(result.most_editions, 0U);
  fmt::print("{} states\n", result.states);
}

INSTANTIATE_TEST_SUITE_P(
    Bounds, PlanVoteModel,
    testing::Values(
        PlanBounds{.ranks = 2, .changes = 1, .calls = 4, .objects = true, .unserved = true},
        PlanBounds{.ranks = 2, .changes = 2, .calls = 3, .objects = true, .at_once = true},
        PlanBounds{.ranks = 3, .changes = 1, .calls = 3, .first_tells = true, .at_once = true}));

}  // namespace
}  // namespace multitree::runtime::world
