// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Entries that ranks write and look up, and what is told of many ranks in few bytes.
#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <thread>

#include "meeting.hpp"
#include "runtime/job/patience_internal.hpp"
#include "runtime/job/runs_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string entry_of(std::uint32_t rank) {
  return "entry " + std::string(rank * 1000, 'x') + std::to_string(rank);
}

/// What `work` of all of `jobs` throws, by seat; empty where it does not.
std::vector<std::string> outcomes(const std::vector<std::shared_ptr<Bootstrap>>& jobs,
                                  const std::function<void(Bootstrap&)>& work) {
  std::vector<std::future<std::string>> running;
  for (const auto& job : jobs) {
    running.push_back(std::async(std::launch::async, [&work, job]() -> std::string {
      try {
        work(*job);
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    }));
  }
  std::vector<std::string> all;
  for (auto& one : running) all.push_back(one.get());
  return all;
}

/// Opens a book of `job`, of which it wants the next rank's entry, and reads all of it.
void read_all(Bootstrap& job) {
  const std::uint32_t self = index(job.seat()), size = job.size();
  const auto book =
      job.open_book(entry_of(self), std::array{Seat{(self + 1) % size}}, Deadline(10'000));
  for (const Seat seat : Seats(size)) EXPECT_EQ(book->of(seat), entry_of(index(seat)));
  EXPECT_EQ(book->of(Seat{0}), entry_of(0)) << "once more";
  job.barrier(Deadline(10'000));
}

using Books = Meeting;

TEST_F(Books, TellEntriesWhenAsked) {
  const auto jobs = join();
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(outcomes(jobs, read_all), ::testing::Each(""));
  }
}

TEST_F(Books, OfSeveralKindsOfJobs) {
  EXPECT_THAT(outcomes(make_in_process_bootstraps(3), read_all), ::testing::Each(""));
  const auto jobs = join();
  const auto in_parts = [](Bootstrap& job) {
    if (job.seat() == Seat{1}) return;
    read_all(*job.part(7, std::array{Seat{2}, Seat{0}}).join({}));
  };
  EXPECT_THAT(outcomes(jobs, in_parts), ::testing::Each(""));
  EXPECT_THAT(outcomes(jobs,
                       [](Bootstrap& job) {
                         const Shrunk left = job.shrink(Deadline(5000));
                         read_all(*left.job);
                       }),
              ::testing::Each(""));
}

/// Two at a time are told apart.
TEST_F(Books, SeveralAtATime) {
  const auto read_two = [](Bootstrap& job) {
    const std::string self = std::to_string(index(job.seat()));
    const auto first = job.open_book("first " + self, {}, Deadline(5000));
    const auto second = job.open_book("second " + self, {}, Deadline(5000));
    EXPECT_EQ(second->of(Seat{2}), "second 2");
    EXPECT_EQ(first->of(Seat{1}), "first 1");
    job.barrier(Deadline(5000));
  };
  EXPECT_THAT(outcomes(join(), read_two), ::testing::Each(""));
}

TEST_F(Books, NameWhoDoesNotWrite) {
  const auto told = outcomes(join(), [](Bootstrap& job) {
    if (job.seat() != Seat{1}) job.open_book("", {}, Deadline(200));
  });
  EXPECT_THAT(told[0], AllOf(HasSubstr("rank 0: waited 200 ms in vain for rank 1")));
  EXPECT_THAT(told[2], HasSubstr("rank 2: waited 200 ms in vain for rank 1"));
}

TEST_F(Books, EndWithADeath) {
  std::vector<std::future<std::string>> told;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    told.push_back(std::async(std::launch::async, [this, rank]() -> std::string {
      try {
        join_over_tcp(options(rank))->open_book("", {}, Deadline(20'000));
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    }));
  }
  {
    Channel mortal = raw_rank(coordinator_->port(), 2, 3, "secret");
    mortal.send(FrameType::Gather, "");
    EXPECT_EQ(answer(mortal), "");  // welcome
    mortal.wait(std::chrono::seconds(5));
  }
  for (auto& one : told) EXPECT_THAT(one.get(), HasSubstr("rank 2 died"));
}

TEST_F(Books, CannotBeReadWithoutACoordinator) {
  const auto jobs = join();
  std::vector<std::unique_ptr<AddressBook>> books(3);
  EXPECT_THAT(outcomes(jobs,
                       [&](Bootstrap& job) {
                         books[index(job.seat())] =
                             job.open_book("here", std::array{Seat{1}}, Deadline(5000));
                       }),
              ::testing::Each(""));
  coordinator_.reset();
  EXPECT_EQ(books[0]->of(Seat{1}), "here");
  EXPECT_THAT([&] { books[0]->of(Seat{2}); },
              ::testing::ThrowsMessage<Error>(HasSubstr("the address of rank 2: the launcher")));
}

TEST_F(Books, AreNotForStrangers) {
  Channel nobody = newcomer(coordinator_->port());
  nobody.send(FrameType::OpenBook, Writer().number(3).number(0).text("").bytes(), JobNumber{9});
  EXPECT_THAT(answer(nobody), HasSubstr("not a rank"));
}

/// Nonsense ends a line, and nothing else.
TEST_F(Books, TakeNoNonsense) {
  Channel odd = raw_rank(coordinator_->port(), 2, 3, "secret");
  EXPECT_EQ(answer(odd), "");  // welcome
  const auto says = [&](FrameType type, const Writer& words) {
    odd.send(type, words.bytes(), JobNumber{9});
    while (true) {
      EXPECT_EQ(odd.fill(), Channel::Status::Open);
      if (const auto frame = odd.next()) return frame->type;
      odd.wait(std::chrono::seconds(5));
    }
  };
  EXPECT_EQ(says(FrameType::OpenBook, Writer()), FrameType::HangUp);
  EXPECT_EQ(says(FrameType::OpenBook, Writer().number(3).number(3).text("")), FrameType::HangUp);
  EXPECT_EQ(says(FrameType::OpenBook, Writer().number(~0U).number(0).text("")), FrameType::HangUp);
  EXPECT_EQ(says(FrameType::OpenBook, Writer().number(3).number(0).text("").number(7)),
            FrameType::HangUp);
  odd.send(FrameType::OpenBook, Writer().number(3).number(0).text("").bytes(), JobNumber{9});
  EXPECT_EQ(says(FrameType::LookUp, Writer().number(0)), FrameType::HangUp) << "others lack";
}

/// More than may be strangers at a time.
TEST(ManyRanks, MeetGatherAndRead) {
  constexpr std::uint32_t kRanks = 300;
  Coordinator coordinator(listen_at(0, kLoopback), kRanks, "secret");
  std::vector<std::future<void>> running;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    running.push_back(std::async(std::launch::async, [&, rank] {
      TcpOptions options;
      options.seat = Seat{rank};
      options.size = kRanks;
      options.addresses = {{"127.0.0.1", coordinator.port()}};
      options.token = "secret";
      const auto job = join_over_tcp(options);
      const Gathered all = job->all_gather(std::to_string(rank / 7), Deadline(60'000));
      for (std::uint32_t r = 0; r < kRanks; ++r) EXPECT_EQ(all[r], std::to_string(r / 7));
      const Seat next{(rank + 1) % kRanks}, opposite{(rank + kRanks / 2) % kRanks};
      const auto book = job->open_book(entry_of(rank % 5), std::array{next}, Deadline(60'000));
      EXPECT_EQ(book->of(next), entry_of(index(next) % 5));
      EXPECT_EQ(book->of(opposite), entry_of(index(opposite) % 5));
      job->barrier(Deadline(60'000));
    }));
  }
  for (auto& one : running) one.get();
}

/// As of a job that was stopped as a whole.
TEST(Patience, CountsLittleOfALongPause) {
  Patience patience(Deadline(300));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(patience.left(), std::chrono::milliseconds(200));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(patience.left(), std::chrono::milliseconds(100));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_TRUE(patience.is_over());
}

TEST(Patience, OfNothingIsOver) { EXPECT_TRUE(Patience(Deadline(0)).is_over()); }

TEST(Runs, AreTextsAndBack) {
  const std::vector<std::vector<std::string>> cases{
      {}, {""}, {"a"}, {"", "", ""}, {"a", "a", "b"}, {"a", "b", "a"}, {"ab", "c", "c", ""}};
  for (const auto& texts : cases) {
    std::vector<const std::string*> all;
    for (const std::string& text : texts) all.push_back(&text);
    EXPECT_EQ(unpack_runs(pack_runs(all), texts.size()), texts);
  }
}

TEST(Runs, OfABarrierAreAFewBytes) {
  const std::string nothing;
  EXPECT_EQ(pack_runs(std::vector<const std::string*>(4096, &nothing)).size(), 8U);
}

TEST(Runs, TakeNonsense) {
  EXPECT_EQ(unpack_runs("", 2), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(unpack_runs("abcdefg", 1), (std::vector<std::string>{""}));
  const std::string many = Writer().number(~0U).text("x").bytes();
  EXPECT_EQ(unpack_runs(many, 3), (std::vector<std::string>{"x", "x", "x"}));
}

}  // namespace
}  // namespace multitree::runtime::test
