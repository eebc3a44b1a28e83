// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Jobs that go on with those who are left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "meeting.hpp"
#include "runtime/job/runs_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// Gathers over all of a job; what rank 0 got.
std::string gathered(const std::vector<Shrunk>& all) {
  std::vector<std::future<Gathered>> gathering;
  for (const Shrunk& one : all) {
    gathering.push_back(std::async(std::launch::async, [&one] {
      return one.job->all_gather(std::to_string(index(one.job->seat())), Deadline(5000));
    }));
  }
  std::string text;
  for (const std::string& blob : gathering.front().get()) text += blob;
  return text;
}

TEST_F(Meeting, ShrinksToTheSurvivorsOfADeath) {
  auto first = std::async(std::launch::async, [&] { return join_over_tcp(options(0)); });
  auto third = std::async(std::launch::async, [&] { return join_over_tcp(options(2)); });
  {
    Channel victim = raw_rank(coordinator_->port(), 1, 3, "secret");
    victim.send(FrameType::Gather, {});
    EXPECT_EQ(answer(victim), "");  // Welcome; then it dies
    const std::vector<std::shared_ptr<Bootstrap>> joined{first.get(), third.get()};
    victim.close();
    EXPECT_EQ(await_failure_of(*joined[0]), "rank 1 died (connection closed)");
    const auto all = shrink_all(joined, Deadline(5000));
    for (std::uint32_t r = 0; r < 2; ++r) {
      EXPECT_EQ(all[r].survivors, seats_at(0, 2));
      EXPECT_EQ(index(all[r].job->seat()), r);
      EXPECT_EQ(all[r].job->size(), 2U);
      EXPECT_EQ(all[r].job->failure(), std::nullopt);
    }
    EXPECT_EQ(gathered(all), "01");
    EXPECT_THAT([&] { joined[0]->barrier(Deadline(100)); },
                ThrowsMessage<Error>(HasSubstr("has been shrunk to another")));
    // Failures of the new job bear the new numbers.
    all[1].job->report_failure("enough");
    EXPECT_EQ(await_failure_of(*all[0].job), "rank 1 gave up: enough");
    // And it shrinks again.
    EXPECT_EQ(index(shrink_all({all[0].job, all[1].job}, Deadline(5000))[1].job->seat()), 1U);
  }
}

TEST_F(Meeting, LeavesOutWhoDoesNotAskToShrink) {
  auto all = join();
  const auto some = shrink_all({all[0], all[2]}, Deadline(1000));
  EXPECT_EQ(some[1].survivors, seats_at(0, 2));
  EXPECT_EQ(gathered(some), "01");
  EXPECT_EQ(await_failure_of(*all[1]), "left out: the others have gone on without this rank");
  EXPECT_THAT([&] { all[1]->shrink(Deadline(100)); }, ThrowsMessage<Error>(HasSubstr("left out")));
  // The seat is not given to anybody else.
  EXPECT_THAT([&] { join_over_tcp(options(1, Deadline(500))); },
              ThrowsMessage<Error>(HasSubstr("has gone on without rank 1")));
}

/// Of three that meet, `out` waits in a gathering that the other two never come to, as they go on
/// without it; what these are given in theirs.
std::vector<std::string> gathered_without(std::uint16_t port, std::uint32_t out) {
  std::vector<Channel> ranks;
  const std::vector<std::uint32_t> order{(out + 1) % 3, (out + 2) % 3,
                                         out};  // it is the last to come
  for (const std::uint32_t rank : order) {
    ranks.push_back(raw_rank(port, rank, 3, "secret"));
    EXPECT_EQ(answer(ranks.back()), "");  // Welcome
  }
  ranks[2].send(FrameType::Gather, "of the old job");
  ranks[2].send(FrameType::WhoIsMissing, {});
  EXPECT_THAT(answer(ranks[2]), Not(HasSubstr(std::to_string(out))));  // it is known to wait
  for (const std::size_t i : {0U, 1U}) {
    ranks[i].send(FrameType::Shrink, Writer().number(600'000).number(out).bytes());
  }
  for (const std::size_t i : {0U, 1U}) EXPECT_THAT(answer(ranks[i]), Not(HasSubstr("left out")));
  EXPECT_THAT(answer(ranks[2]), HasSubstr("left out"));
  ranks[0].send(FrameType::WhoIsMissing, {});
  EXPECT_EQ(answer(ranks[0]), "0, 1");
  for (const std::size_t i : {0U, 1U}) ranks[i].send(FrameType::Gather, std::to_string(order[i]));
  const std::string all = answer(ranks[0]);
  EXPECT_EQ(answer(ranks[1]), all);
  return unpack_runs(all, 2);
}

TEST_F(Meeting, WhatOneThatIsLeftOutHasSaidIsOfNoLaterGathering) {
  using ::testing::ElementsAre;
  for (std::uint32_t out = 0; out < 3; ++out) {
    const Coordinator coordinator(listen_at(0, kLoopback), 3, "secret");
    EXPECT_THAT(gathered_without(coordinator.port(), out),
                ElementsAre(out == 0 ? "1" : "0", out == 2 ? "1" : "2"));
  }
}

TEST_F(Meeting, AnyThreadMayAskForNumbersWhileAJobIsShrunk) {
  auto all = join();
  const std::uint64_t name = all[0]->name();
  std::atomic<bool> over = false;
  auto asking = std::async(std::launch::async, [&] {
    bool same = true;
    while (!over) same = same && all[0]->lineage().root == name && all[0]->size() == 3;
    return same;
  });
  const auto some = shrink_all({all[0], all[2]}, Deadline(1000));
  over = true;
  EXPECT_TRUE(asking.get());
  EXPECT_EQ(all[0]->name(), name);
  EXPECT_NE(some[0].job->name(), name);
}

TEST_F(Meeting, ShrinksWithoutThoseWhoLeft) {
  auto all = join();
  all[0].reset();
  EXPECT_EQ(gathered(shrink_all({all[1], all[2]}, Deadline(5000))), "01");
}

/// Two go on without a third that is alive and well: nobody waits for it to the end.
void expect_not_awaited(const std::vector<std::shared_ptr<Bootstrap>>& all) {
  const std::vector<Seat> without{1_seat};
  auto first =
      std::async(std::launch::async, [&] { return all[0]->shrink(Deadline(600'000), without); });
  const Shrunk second = all[2]->shrink(Deadline(600'000), without);
  EXPECT_EQ(second.survivors, seats_at(0, 2));
  EXPECT_EQ(gathered({first.get(), second}), "01");
}

TEST_F(Meeting, DoesNotWaitForThoseToBeLeftOut) {
  const auto all = join();
  expect_not_awaited(all);
  EXPECT_THAT(await_failure_of(*all[1]), HasSubstr("left out"));
}

TEST(InProcess, DoesNotWaitForThoseToBeLeftOut) {
  const auto all = make_in_process_bootstraps(3);
  expect_not_awaited(all);
  EXPECT_THAT(await_failure_of_one(*all[1]), HasSubstr("left out"));
}

TEST_F(Meeting, ShrinksToOne) {
  const auto all = join();
  const Shrunk alone = all[1]->shrink(Deadline(50));
  EXPECT_EQ(alone.survivors, seats_at(1));
  EXPECT_EQ(gathered({alone}), "0");
}

TEST_F(Meeting, CannotShrinkWithoutCoordinator) {
  const auto all = join();
  coordinator_.reset();
  EXPECT_THAT([&] { all[1]->shrink(Deadline(1000)); },
              ThrowsMessage<Error>(HasSubstr("the launcher is gone")));
}

TEST(InProcess, ShrinksWithoutTheLateAndTheGone) {
  auto all = make_in_process_bootstraps(4);
  all[0].reset();
  all[1]->report_failure("enough");
  const auto some = shrink_all({all[1], all[3]}, Deadline(200));  // rank 2 does not ask
  EXPECT_EQ(some[1].survivors, seats_at(1, 3));
  EXPECT_EQ(index(some[1].job->seat()), 1U);
  EXPECT_EQ(some[1].job->failure(), std::nullopt);
  EXPECT_EQ(gathered(some), "01");
  EXPECT_THAT(await_failure_of_one(*all[2]), HasSubstr("left out"));
  EXPECT_THAT([&] { all[2]->shrink(Deadline(100)); }, ThrowsMessage<Error>(HasSubstr("left out")));
}

}  // namespace
}  // namespace multitree::runtime::test
