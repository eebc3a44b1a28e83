// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtCommSleep(): threads that test, sleep, and test again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Clock = std::chrono::steady_clock;

constexpr int kLongSleep = 2'000'000;  // microseconds
constexpr auto kLongSleepTime = std::chrono::microseconds(kLongSleep);

/// Tests and sleeps until the request is complete. \returns how many sleeps lasted to their end
int sleep_until_complete(mtComm_t comm, mtRequest_t request) {
  int whole_sleeps = 0, done = 0;
  EXPECT_EQ(mtRequestTest(request, &done), mtSuccess) << mtGetLastError(comm);
  while (done == 0 && !::testing::Test::HasFailure()) {
    const auto begin = Clock::now();
    EXPECT_EQ(mtCommSleep(comm, kLongSleep), mtSuccess) << mtGetLastError(comm);
    if (Clock::now() - begin >= kLongSleepTime) ++whole_sleeps;
    EXPECT_EQ(mtRequestTest(request, &done), mtSuccess) << mtGetLastError(comm);
  }
  return whole_sleeps;
}

class Sleep : public OnEveryPath {};

/// Everybody sleeps but for who comes last, in all orders.
TEST_P(Sleep, EndsWhenAnotherRankHasCome) {
  constexpr int kRanks = 3, kRounds = 12;
  run(kRanks, [](int rank, mtComm_t comm) {
    int whole_sleeps = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (rank == round % kRanks) std::this_thread::sleep_for(5ms);
      Numbers numbers(round % 2 == 0 ? 5 : 50'000, rank + round);
      mtRequest_t request = nullptr;
      ASSERT_EQ(mtIAllReduce(numbers.data(), numbers.data(), numbers.size(), mtInt32, mtSum, comm,
                             nullptr, &request),
                mtSuccess);
      whole_sleeps += sleep_until_complete(comm, request);
      EXPECT_EQ(numbers, Numbers(numbers.size(), 3 + 3 * round));
      EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    }
    // A ring that comes in the very moment may be lost: that is rare.
    EXPECT_LE(whole_sleeps, kRounds / 4);
  });
}

/// What the progress thread moves between a test and a sleep is not slept through: nobody rings for
/// it any more.
TEST_P(Sleep, IsShortWhereTheThreadHasMovedMeanwhile) {
  constexpr int kRounds = 8;
  run(2, [](int rank, mtComm_t comm) {
    int whole_sleeps = 0;
    for (std::int32_t round = 0; round < kRounds; ++round) {
      std::int32_t number = rank == 1 ? round : -1;
      if (rank == 1) {
        std::this_thread::sleep_for(10ms);
        ASSERT_EQ(mtSend(&number, 1, mtInt32, 0, comm, nullptr), mtSuccess);
      } else {
        mtRequest_t request = nullptr;
        ASSERT_EQ(mtIRecv(&number, 1, mtInt32, 1, comm, nullptr, &request), mtSuccess);
        int done = 0;
        ASSERT_EQ(mtRequestTest(request, &done), mtSuccess);
        std::this_thread::sleep_for(50ms);
        const auto begin = Clock::now();
        ASSERT_EQ(mtCommSleep(comm, kLongSleep), mtSuccess);
        if (Clock::now() - begin >= kLongSleepTime) ++whole_sleeps;
        EXPECT_EQ(mtRequestWait(request), mtSuccess);
        EXPECT_EQ(mtRequestFree(&request), mtSuccess);
      }
      EXPECT_EQ(number, round);
      ASSERT_EQ(mtBarrier(comm), mtSuccess);
    }
    EXPECT_LE(whole_sleeps, kRounds / 4);
  });
}

TEST_P(Sleep, LetsOtherThreadsCallMeanwhile) {
  run(2, [](int rank, mtComm_t comm) {
    std::int32_t awaited = -1, number = rank;
    mtRequest_t receipt = nullptr;
    if (rank == 0) {
      ASSERT_EQ(mtIRecv(&awaited, 1, mtInt32, 1, comm, nullptr, &receipt), mtSuccess);
      std::thread sleeper([&] { sleep_until_complete(comm, receipt); });
      EXPECT_EQ(mtAllReduce(&number, &number, 1, mtInt32, mtSum, comm, nullptr), mtSuccess);
      sleeper.join();
      EXPECT_EQ(awaited, 1);
      EXPECT_EQ(mtRequestFree(&receipt), mtSuccess);
    } else {
      // What the sleeper waits for is sent only once the other thread's call is over.
      EXPECT_EQ(mtAllReduce(&number, &number, 1, mtInt32, mtSum, comm, nullptr), mtSuccess);
      EXPECT_EQ(mtSend(&number, 1, mtInt32, 0, comm, nullptr), mtSuccess);
    }
    EXPECT_EQ(number, 1);
  });
}

/// Sleeps of a moment, as without them nothing would be told.
TEST_P(Sleep, TellsOfAnotherRanksAbort) {
  run(2, [](int rank, mtComm_t comm) {
    if (rank == 1) {
      EXPECT_EQ(mtCommAbort(comm), mtSuccess);
      return;
    }
    std::int32_t number = 0;
    mtRequest_t request = nullptr;
    ASSERT_EQ(mtIRecv(&number, 1, mtInt32, 1, comm, nullptr, &request), mtSuccess);
    mtResult_t result = mtSuccess;
    const auto end = Clock::now() + 60s;
    while (result == mtSuccess && Clock::now() < end) result = mtCommSleep(comm, 1000);
    EXPECT_NE(result, mtSuccess) << "nothing was told";
    EXPECT_THAT(mtGetLastError(comm), HasSubstr("rank 1"));
    EXPECT_EQ(mtRequestFree(&request), mtSuccess);
  });
}

/// Nobody else looks, and each sleep lasts to its end: a few are enough to learn of it.
TEST(SleepWithoutThread, TellsOfAnotherRanksAbortSoon) {
  constexpr int kSleep = 250'000, kSleeps = 40;
  const mtUniqueId id = new_id();
  in_threads(2, [&](int rank) {
    mtConfig_t config = loopback();
    config.progress = "off";
    mtComm_t comm = nullptr;
    ASSERT_EQ(mtCommInitRankConfig(&comm, 2, id, rank, &config), mtSuccess);
    if (rank == 1) {
      EXPECT_EQ(mtCommAbort(comm), mtSuccess);
      return;
    }
    std::int32_t number = 0;
    mtRequest_t request = nullptr;
    ASSERT_EQ(mtIRecv(&number, 1, mtInt32, 1, comm, nullptr, &request), mtSuccess);
    mtResult_t result = mtSuccess;
    for (int i = 0; i < kSleeps && result == mtSuccess; ++i) result = mtCommSleep(comm, kSleep);
    EXPECT_NE(result, mtSuccess) << "nothing was told in " << kSleeps << " sleeps";
    EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    mtCommDestroy(comm);
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, Sleep, all_paths(), name_of_path);

TEST(SleepAlone, EndsAfterItsTime) {
  const Alone alone;
  const auto begin = Clock::now();
  EXPECT_EQ(mtCommSleep(alone.comm, 0), mtSuccess);
  EXPECT_EQ(mtCommSleep(alone.comm, 1000), mtSuccess);
  EXPECT_LT(Clock::now() - begin, 60s);
}

TEST(SleepAlone, RefusesWhatIsNoTimeAndNoCommunicator) {
  const Alone alone;
  EXPECT_EQ(mtCommSleep(alone.comm, -1), mtInvalidArgument);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("microseconds: expected 0 or more, found -1"));
  EXPECT_EQ(mtCommSleep(nullptr, 1), mtInvalidArgument);
}

}  // namespace
}  // namespace multitree::c_api_test
