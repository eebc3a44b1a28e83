// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks that hear the same words in the same order agree on the first call with other schedules.
#include "runtime/execution/plan_vote_internal.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/support.hpp"

namespace multitree::runtime::test {
namespace {

using Stage = PlanVote::Stage;

PlanVote::Links links(std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> ends) {
  PlanVote::Links all;
  for (const auto& [a, b] : ends) all.push_back({link_between(Seat{a}, Seat{b}), 0});
  return all;
}

std::string silent_words(const std::vector<Seat>& peers) {
  std::vector<ImpairedLink> links;
  for (const Seat peer : peers) links.push_back({peer, 0});
  return PlanVote::link_words(links);
}

std::string slow_words(Seat peer, std::uint32_t percent) {
  return PlanVote::link_words(std::vector{ImpairedLink{peer, percent}});
}

/// Of three ranks, up to the promises.
PlanVote made_by_all() {
  PlanVote vote(3);
  vote.hear(0_seat, silent_words(seats_at(1)));
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::made_words(1, true));
  return vote;
}

TEST(PlanVote, BeginsAtTheFarthestCallThatAnybodyMayReach) {
  PlanVote vote(3);
  EXPECT_EQ(vote.stage(), Stage::Still);
  vote.hear(2_seat, silent_words(seats_at(0)));
  EXPECT_EQ(vote.stage(), Stage::Making);
  EXPECT_EQ(vote.around(), links({{0, 2}}));
  vote.hear(0_seat, silent_words(seats_at(2)));  // the other end of the same link
  for (const Seat seat : Seats(3)) {
    EXPECT_EQ(vote.stage(), Stage::Making);
    vote.hear(seat, PlanVote::made_words(1, true));
  }
  EXPECT_EQ(vote.stage(), Stage::Promising);
  const std::uint64_t far = std::uint64_t{7} << 32;
  vote.hear(1_seat, PlanVote::promise_words(1, 12));
  vote.hear(2_seat, PlanVote::promise_words(1, far));
  vote.hear(1_seat, PlanVote::promise_words(1, far + 9));  // it has said another before
  EXPECT_EQ(vote.take_decision(), std::nullopt);
  vote.hear(0_seat, PlanVote::promise_words(1, 3));
  EXPECT_EQ(vote.take_decision(), (PlanVote::Decision{1, far, links({{0, 2}})}));
  EXPECT_EQ(vote.take_decision(), std::nullopt);
  EXPECT_EQ(vote.stage(), Stage::Still);
}

TEST(PlanVote, GoesBackWhenLinksAre) {
  PlanVote vote = made_by_all();
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::promise_words(1, 5));
  ASSERT_TRUE(vote.take_decision());
  vote.hear(0_seat, silent_words(seats_at(1)));  // nothing new
  EXPECT_EQ(vote.stage(), Stage::Still);
  vote.hear(0_seat, silent_words({}));
  EXPECT_EQ(vote.stage(), Stage::Making);
  EXPECT_EQ(vote.change(), 2U);
  EXPECT_TRUE(vote.around().empty());
}

TEST(PlanVote, ALinkIsAsBadAsTheWorseOfItsEndsSays) {
  PlanVote vote(3);
  vote.hear(0_seat, slow_words(1_seat, 52));
  ASSERT_EQ(vote.around(), (PlanVote::Links{{link_between(0_seat, 1_seat), 52}}));
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::made_words(1, true));
  vote.hear(1_seat, slow_words(0_seat, 47));
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::promise_words(1, 5));
  ASSERT_TRUE(vote.take_decision());
  EXPECT_EQ(vote.stage(), Stage::Still);  // that is hardly another

  vote.hear(1_seat, slow_words(0_seat, 30));
  EXPECT_EQ(vote.around(), (PlanVote::Links{{link_between(0_seat, 1_seat), 30}}));
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::made_words(2, true));
  vote.hear(2_seat, slow_words(0_seat, 100));  // as good as ever
  vote.hear(1_seat, silent_words(seats_at(0)));
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::promise_words(2, 9));
  ASSERT_TRUE(vote.take_decision());
  EXPECT_EQ(vote.around(), links({{0, 1}}));
}

TEST(PlanVote, TakesWhatChangesMeanwhileForTheNextOne) {
  PlanVote vote = made_by_all();
  vote.hear(1_seat, silent_words(seats_at(2)));
  EXPECT_EQ(vote.around(), links({{0, 1}}));
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::promise_words(1, 5));
  ASSERT_TRUE(vote.take_decision());
  EXPECT_EQ(vote.stage(), Stage::Making);
  EXPECT_EQ(vote.around(), links({{0, 1}, {1, 2}}));
}

TEST(PlanVote, StaysWhereNothingServesOrSomebodyObjects) {
  PlanVote vote(3);
  vote.hear(0_seat, silent_words(seats_at(1)));
  vote.hear(1_seat, PlanVote::made_words(1, true));
  vote.hear(2_seat, PlanVote::made_words(1, false));
  EXPECT_EQ(vote.stage(), Stage::Still);
  vote.hear(1_seat, silent_words(seats_at(0)));  // the same links: nobody tries again
  vote.hear(0_seat, PlanVote::made_words(1, true));
  EXPECT_EQ(vote.stage(), Stage::Still);

  vote = made_by_all();
  vote.hear(1_seat, PlanVote::promise_words(1, 5));
  vote.hear(2_seat, PlanVote::objection_words(1));
  EXPECT_EQ(vote.stage(), Stage::Still);
  vote.hear(0_seat, PlanVote::promise_words(1, 5));
  EXPECT_EQ(vote.take_decision(), std::nullopt);
  vote.hear(2_seat, silent_words({}));
  EXPECT_EQ(vote.stage(), Stage::Making);
  vote.hear(0_seat, PlanVote::objection_words(1));  // too late
  EXPECT_EQ(vote.stage(), Stage::Making);
}

TEST(PlanVote, PassesOverWordsThatFitNothing) {
  PlanVote vote = made_by_all();
  for (const std::string& words : {std::string(), std::string("\0\0", 2), std::string("nonsense"),
                                   PlanVote::promise_words(2, 1), PlanVote::made_words(1, false)}) {
    vote.hear(0_seat, words);
  }
  EXPECT_EQ(vote.stage(), Stage::Promising);
  vote.hear(0_seat, silent_words(seats_at(0, 3, 700)));  // itself, and ranks there are not
  for (const Seat seat : Seats(3)) vote.hear(seat, PlanVote::promise_words(1, 5));
  EXPECT_EQ(vote.take_decision()->around, links({{0, 1}}));
  EXPECT_EQ(vote.stage(), Stage::Making);
  EXPECT_TRUE(vote.around().empty());
}

/// Ranks that are as far apart as can be, each saying what its own vote asks for: whatever the
/// order, all decide alike, and no decision is about a call that somebody may have begun.
TEST(PlanVote, AllDecideAlikeInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    constexpr std::uint32_t kRanks = 4;
    std::vector<PlanVote> votes(kRanks, PlanVote(kRanks));
    std::vector<std::pair<Seat, std::string>> said;
    std::vector<std::size_t> heard(kRanks);
    std::vector<std::uint64_t> begun(kRanks), limit(kRanks, ~std::uint64_t{0});
    std::vector<std::uint32_t> made(kRanks), promised(kRanks);
    std::vector<std::vector<PlanVote::Decision>> decisions(kRanks);
    for (int step = 0; step < 600; ++step) {
      const auto r = static_cast<std::uint32_t>(random() % kRanks);
      PlanVote& vote = votes[r];
      if (random() % 40 == 0 && step < 400) {
        const Seat peer{static_cast<std::uint32_t>(random() % kRanks)};
        const std::uint32_t percent =
            random() % 3 == 0 ? 0 : static_cast<std::uint32_t>(random() % 99);
        const std::vector<ImpairedLink> links(random() % 2, {peer, percent});
        said.emplace_back(Seat{r}, PlanVote::link_words(links));
      }
      if (random() % 90 == 0) said.emplace_back(Seat{r}, PlanVote::objection_words(vote.change()));
      if (heard[r] < said.size() && random() % 2 == 0) {
        vote.hear(said[heard[r]].first, said[heard[r]].second);
        ++heard[r];
      }
      if (auto decision = vote.take_decision()) {
        EXPECT_GE(decision->first, begun[r]) << "seed " << seed;
        decisions[r].push_back(*decision);
      }
      if (vote.stage() == Stage::Making && made[r] != vote.change()) {
        made[r] = vote.change();
        said.emplace_back(Seat{r}, PlanVote::made_words(made[r], random() % 10 != 0));
      }
      if (vote.stage() != Stage::Promising) {
        limit[r] = ~std::uint64_t{0};
      } else if (promised[r] != vote.change()) {
        promised[r] = vote.change();
        limit[r] = begun[r] + random() % 5;
        said.emplace_back(Seat{r}, PlanVote::promise_words(promised[r], limit[r]));
      }
      if (begun[r] < limit[r]) ++begun[r];
    }
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      for (; heard[r] < said.size(); ++heard[r]) {
        votes[r].hear(said[heard[r]].first, said[heard[r]].second);
        if (auto decision = votes[r].take_decision()) decisions[r].push_back(*decision);
      }
      EXPECT_EQ(decisions[r], decisions[0]) << "seed " << seed;
      EXPECT_EQ(votes[r].stage(), votes[0].stage()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace multitree::runtime::test
