// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gatherings that are given up and tried again, and those that are complete although somebody
/// dies.
#include <gmock/gmock.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <stdexcept>

#include "meeting.hpp"
#include "runtime/job/runs_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

constexpr Deadline kLong{10'000};

std::future<Gathered> gather_later(Bootstrap& job, const std::string& blob) {
  return std::async(std::launch::async, [&job, blob] { return job.all_gather(blob, kLong); });
}

/// All three, of which the first has given up before, gather twice.
void gather_twice(const std::vector<std::shared_ptr<Bootstrap>>& all) {
  for (const std::string round : {"first", "second"}) {
    auto one = gather_later(*all[1], round + " of 1"), two = gather_later(*all[2], round + " of 2");
    // They wait already when rank 0 comes.
    if (round == "first") std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto same = ElementsAre(round + " of 0", round + " of 1", round + " of 2");
    EXPECT_THAT(all[0]->all_gather(round + " of 0", kLong), same);
    EXPECT_THAT(one.get(), same);
    EXPECT_THAT(two.get(), same);
  }
}

TEST_F(Meeting, WhoseWaitEndsInTimeHasNotCome) {
  const auto all = join();
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT([&] { all[0]->all_gather("lost", Deadline(50)); },
                ThrowsMessage<Error>(HasSubstr("waited 50 ms in vain for rank 1, 2")));
  }
  gather_twice(all);
}

TEST_F(Meeting, WhoseWaitEndsInAnErrorHasNotCome) {
  const auto all = join();
  const auto fail = [] { throw std::runtime_error("a broken wire"); };
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT([&] { all[0]->all_gather("lost", kLong, fail); },
                ThrowsMessage<std::runtime_error>(StrEq("a broken wire")));
  }
  gather_twice(all);
}

/// A coordinator of two ranks that answers when it likes: one of them is a rank's, the other is
/// made up.
class Unhurried {
 public:
  [[nodiscard]] TcpOptions options() const {
    TcpOptions options;
    options.size = 2;
    options.addresses = {{kLoopback, port_of(door_)}};
    options.token = "secret";
    options.coordinator_name = "the launcher";
    options.deadline = kLong;
    return options;
  }
  void let_in() {
    pollfd event{door_.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&event, 1, 10'000), 1);
    rank_.emplace(accept_from(door_), key_of("secret"), Channel::Side::Acceptor);
    await(FrameType::Hello);
    rank_->send(FrameType::Welcome, {});
    gather(await(FrameType::Gather), "");
  }
  /// The payload of the next frame of this type; others are not answered.
  std::string await(FrameType type) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (std::chrono::steady_clock::now() < end) {
      const Channel::Status status = rank_->fill();
      while (const auto frame = rank_->next()) {
        if (frame->type == type) return frame->payload;
      }
      if (status != Channel::Status::Open) return "closed";
      rank_->wait(std::chrono::seconds(1));
    }
    return "nothing came";
  }
  void gather(const std::string& its, const std::string& other) {
    rank_->send(FrameType::Gathered, pack_runs({&its, &other}));
  }
  void let_go() { rank_->send(FrameType::Withdrawn, {}); }
  void say_who_is_missing() { rank_->send(FrameType::Missing, "1"); }
  /// To the same two ranks, of which the other says something at once.
  void shrink_and_say(const std::string& words) {
    constexpr std::uint32_t kEpoch = 1, kRanks = 2, kUnsettled = 0;
    Writer shrunk, said;
    shrunk.number(kEpoch).number(kRanks).number(0).number(1).number(kUnsettled);
    said.number(1).text(words);
    rank_->send(FrameType::Shrunk, shrunk.bytes());
    rank_->send(FrameType::Said, said.bytes());
  }

 private:
  Socket door_ = listen_at(0, kLoopback);
  std::optional<Channel> rank_;
};

std::shared_ptr<Bootstrap> join(Unhurried& coordinator) {
  auto joining = std::async(std::launch::async,
                            [options = coordinator.options()] { return join_over_tcp(options); });
  coordinator.let_in();
  return joining.get();
}

/// Gives up a gathering of which it hears nothing.
void give_up(Bootstrap& job) {
  EXPECT_THAT([&] { job.all_gather("first", Deadline(50)); },
              ThrowsMessage<Error>(StrEq("rank 0: the launcher did not answer for 50 ms")));
}

TEST(Gathering, AnAnswerThatComesTooLateIsNotOneToTheNextTry) {
  Unhurried coordinator;
  const auto job = join(coordinator);
  give_up(*job);
  auto again = std::async(std::launch::async, [&] { return job->all_gather("second", kLong); });
  EXPECT_EQ(coordinator.await(FrameType::Gather), "first");
  coordinator.gather("first", "of another");
  EXPECT_THAT([&] { again.get(); },
              ThrowsMessage<Error>(
                  StrEq("rank 0: all have come to a gathering that this rank had given up")));
  // The others hear that they cannot count on it.
  EXPECT_THAT(coordinator.await(FrameType::Failure), HasSubstr("had given up"));
}

TEST(Gathering, IsTriedAgainOnceTheCoordinatorHasLetGoOfWhatWasSaid) {
  Unhurried coordinator;
  const auto job = join(coordinator);
  give_up(*job);
  auto again = gather_later(*job, "second");
  coordinator.let_go();
  EXPECT_EQ(coordinator.await(FrameType::Gather), "first");
  EXPECT_EQ(coordinator.await(FrameType::Gather), "second");
  coordinator.gather("second", "of another");
  EXPECT_THAT(again.get(), ElementsAre("second", "of another"));
}

TEST(Gathering, LettingGoIsCountedForWhatWasGivenUpFirst) {
  Unhurried coordinator;
  const auto job = join(coordinator);
  give_up(*job);
  auto again = std::async(std::launch::async, [&] { give_up(*job); });
  EXPECT_EQ(coordinator.await(FrameType::Gather), "first");
  coordinator.await(FrameType::Gather);
  coordinator.let_go();  // of the first
  again.get();
  coordinator.gather("first", "of another");  // the second
  EXPECT_THAT([&] { job->all_gather("third", kLong); },
              ThrowsMessage<Error>(HasSubstr("a gathering that this rank had given up")));
}

TEST(Gathering, WhatIsCompleteWhileARankGivesUpIsComplete) {
  Unhurried coordinator;
  const auto job = join(coordinator);
  auto late = std::async(std::launch::async, [&] { return job->all_gather("mine", Deadline(50)); });
  EXPECT_EQ(coordinator.await(FrameType::Gather), "mine");
  coordinator.await(FrameType::WhoIsMissing);
  coordinator.say_who_is_missing();
  coordinator.await(FrameType::Withdraw);
  coordinator.gather("mine", "of another");  // on its way before it heard of that
  EXPECT_THAT(late.get(), ElementsAre("mine", "of another"));
  auto next = gather_later(*job, "next");
  coordinator.await(FrameType::Gather);
  coordinator.gather("next", "of another");
  EXPECT_THAT(next.get(), ElementsAre("next", "of another"));
}

TEST(Gathering, WhatIsSaidInTheJobThatIsLeftIsHeardThere) {
  Unhurried coordinator;
  const auto job = join(coordinator);
  std::vector<std::string> before, after;
  const auto into = [](std::vector<std::string>& heard) {
    return [&heard](Seat, const std::string& words) {
      heard.push_back(words);
      return std::string();
    };
  };
  job->hear_with(into(before));
  auto shrinking = std::async(std::launch::async, [&] { return job->shrink(kLong); });
  coordinator.await(FrameType::Shrink);
  coordinator.shrink_and_say("here");
  const Shrunk shrunk = shrinking.get();
  shrunk.job->hear_with(into(after));
  for (int i = 0; i < 5000 && after.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(shrunk.job->failure(), std::nullopt);
  }
  EXPECT_THAT(after, ElementsAre("here"));
  EXPECT_THAT(before, ::testing::IsEmpty());
}

/// What the whole knows of a death may come before what the part has told.
TEST_F(Meeting, APartThatIsCompleteIsSoWhateverTheWholeKnows) {
  const auto all = join();
  const std::array members{0_seat, 1_seat};
  const auto make = [&](std::size_t rank, const BootstrapOptions& how) {
    return std::async(std::launch::async, [&all, &members, rank, how] {
      return all[rank]->part(7, members).join(how);
    });
  };
  std::shared_future<Gathered> other;
  std::atomic<bool> knows{false};
  BootstrapOptions how{.deadline = kLong};
  how.failed_before = [&]() -> std::optional<std::string> {
    if (!knows) return std::nullopt;
    other.wait();  // rank 0 has gone on, so its process may have died by now
    return "rank 0 was lost before it joined";
  };
  auto zero = make(0, {.deadline = kLong}), one = make(1, how);
  const auto first = zero.get(), second = one.get();
  other = gather_later(*first, "a").share();
  knows = true;
  EXPECT_THAT(second->all_gather("b", kLong), ElementsAre("a", "b"));
}

TEST_F(Meeting, APartThatOneIsLostToIsNotWaitedFor) {
  const auto all = join();
  const std::array members{0_seat, 1_seat};
  BootstrapOptions how{.deadline = kLong};
  how.failed_before = [] { return std::optional<std::string>("rank 1 was lost before it joined"); };
  const auto part = all[0]->part(7, members).join(how);
  EXPECT_THAT([&] { part->barrier(kLong); },
              ThrowsMessage<Error>(StrEq("rank 0: rank 1 was lost before it joined")));
}

/// Only the first death is told to all; whoever waits for one that died later asks for it.
TEST_F(Meeting, WhoDiesAfterTheFirstIsFound) {
  auto joining = std::async(std::launch::async, [&] { return join_over_tcp(options(0)); });
  std::vector<Channel> mortals;
  for (std::uint32_t rank = 1; rank < 3; ++rank) {
    mortals.push_back(raw_rank(coordinator_->port(), rank, 3, "secret"));
    mortals.back().send(FrameType::Gather, {});
  }
  const auto job = joining.get();
  const std::array first{1_seat};
  const std::array second{0_seat, 2_seat};
  EXPECT_EQ(job->find_dead(second), std::nullopt);
  mortals[0].close();
  EXPECT_EQ(await_failure_of(*job), "rank 1 died (connection closed)");
  const auto await_dead = [&](std::span<const Seat> seats) {
    std::optional<Seat> dead;
    for (int i = 0; i < 5000 && !dead; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      dead = job->find_dead(seats);
    }
    return dead;
  };
  EXPECT_EQ(await_dead(first), 1_seat);
  EXPECT_EQ(job->find_dead(second), std::nullopt);
  mortals[1].close();
  EXPECT_EQ(await_dead(second), 2_seat);
}

/// It may end as soon as it knows, and the coordinator with it.
TEST(Gathering, TheRankOfTheCoordinatorsProcessHearsLast) {
  constexpr std::uint32_t kRanks = 48;
  const Coordinator coordinator(listen_at(0, kLoopback), kRanks, "secret");
  std::vector<Channel> ranks;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(raw_rank(coordinator.port(), rank, kRanks, "secret"));
    EXPECT_EQ(answer(ranks.back()), "");
  }
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    for (Channel& rank : ranks) rank.send(FrameType::Gather, {});
    pollfd host{ranks[0].fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&host, 1, 10'000), 1);
    int told = 0;
    for (const Channel& rank : ranks) {
      pollfd event{rank.fd(), POLLIN, 0};
      told += ::poll(&event, 1, 0);
    }
    EXPECT_EQ(told, static_cast<int>(kRanks)) << "round " << round;
    for (Channel& rank : ranks) answer(rank);
  }
}

}  // namespace
}  // namespace multitree::runtime::test
