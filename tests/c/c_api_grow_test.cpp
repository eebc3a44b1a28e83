// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Communicators with more ranks than another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c_api_support.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::HasSubstr;

/// What each of its ranks brings, in their order.
std::vector<int> gathered(mtComm_t comm, int what) {
  int size = 0;
  EXPECT_EQ(mtCommCount(comm, &size), mtSuccess);
  std::vector<int> all(size);
  EXPECT_EQ(mtAllGather(&what, all.data(), 1, mtInt32, comm, nullptr), mtSuccess)
      << mtGetLastError(comm);
  return all;
}

/// Two ranks; `body(thread, comm)` in a thread for each of them and two more, which have none.
void with_newcomers(const std::function<void(int, mtComm_t)>& body) {
  const mtUniqueId id = new_id();
  const mtConfig_t config = loopback();
  in_threads(4, [&](int thread) {
    mtComm_t comm = nullptr;
    if (thread < 2) {
      ASSERT_EQ(mtCommInitRankConfig(&comm, 2, id, thread, &config), mtSuccess);
    }
    body(thread, comm);
    if (comm != nullptr) {
      EXPECT_EQ(mtCommDestroy(comm), mtSuccess) << mtGetLastError(nullptr);
    }
  });
}

TEST(Grow, NewcomersComeAfterThoseWhoAreThere) {
  const mtUniqueId id = new_id();
  with_newcomers([&](int thread, mtComm_t comm) {
    const mtConfig_t config = loopback();
    mtComm_t all = nullptr;
    int sum = 0;
    mtRequest_t request = nullptr;
    if (comm != nullptr) {
      ASSERT_EQ(mtIAllReduce(&thread, &sum, 1, mtInt32, mtSum, comm, nullptr, &request), mtSuccess);
      // One of them has the id.
      ASSERT_EQ(mtCommGrow(comm, 4, thread == 1 ? &id : nullptr, -1, &all, nullptr), mtSuccess)
          << mtGetLastError(nullptr);
      EXPECT_EQ(sum, 1);  // what was outstanding was finished first
      EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    } else {
      ASSERT_EQ(mtCommGrow(nullptr, 4, &id, thread, &all, &config), mtSuccess)
          << mtGetLastError(nullptr);
    }
    EXPECT_THAT(gathered(all, thread), ::testing::ElementsAre(0, 1, 2, 3));
    if (comm != nullptr) {
      EXPECT_THAT(gathered(comm, thread), ::testing::ElementsAre(0, 1));  // goes on as well
    }
    EXPECT_EQ(mtCommDestroy(all), mtSuccess);
  });
}

TEST(Grow, RanksAreChosenAndTheNetworkIsGiven) {
  mtUniqueId id;
  const Alone one;
  ASSERT_EQ(mtCommGetUniqueId(one.comm, &id), mtSuccess);
  with_newcomers([&](int thread, mtComm_t comm) {
    const std::vector<int> places{3, 1, 0, 2};
    mtConfig_t config = loopback();
    config.topology = "torus:2x2";
    config.algorithm = "multitree";
    mtComm_t all = nullptr;
    ASSERT_EQ(mtCommGrow(comm, 4, &id, places[thread], &all, &config), mtSuccess)
        << mtGetLastError(nullptr);
    EXPECT_THAT(gathered(all, thread), ::testing::ElementsAre(2, 1, 3, 0));
    EXPECT_EQ(mtCommDestroy(all), mtSuccess);
  });
}

TEST(Grow, InAGroupAndInTheBackground) {
  const Together two(2);
  const mtUniqueId id = new_id();
  mtConfig_t config = loopback();
  std::vector<mtComm_t> comms(3);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  EXPECT_EQ(mtCommGrow(two.comms[0], 3, &id, -1, comms.data(), nullptr), mtSuccess);
  EXPECT_EQ(mtCommGrow(two.comms[1], 3, &id, -1, &comms[1], nullptr), mtSuccess);
  EXPECT_EQ(mtCommGrow(nullptr, 3, &id, 2, &comms[2], &config), mtSuccess);
  ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  in_threads(3, [&](int rank) {
    EXPECT_THAT(gathered(comms[rank], rank), ::testing::ElementsAre(0, 1, 2));
    EXPECT_EQ(mtCommDestroy(comms[rank]), mtSuccess);
  });

  config.blocking = 0;
  const mtUniqueId other = new_id();
  in_threads(3, [&](int rank) {
    mtComm_t all = nullptr, old = rank < 2 ? two.comms[rank] : nullptr;
    ASSERT_EQ(mtCommGrow(old, 3, &other, rank, &all, &config), mtInProgress);
    mtResult_t state = mtInProgress;
    while (state == mtInProgress) ASSERT_EQ(mtCommGetAsyncError(all, &state), mtSuccess);
    EXPECT_EQ(state, mtSuccess);
    EXPECT_EQ(mtBarrier(all), mtSuccess);
    mtCommDestroy(all);
    // Finalized in the background where blocking is 0.
  });
}

struct Wrong {
  const char* name;
  int size0, size1, rank0, rank1;
  bool id0, id1, two_ids;
  const char* words;
};

class GrowsWrongly : public ::testing::TestWithParam<Wrong> {};

TEST_P(GrowsWrongly, IsSaidAtAllRanksAndChangesNothing) {
  const Wrong& wrong = GetParam();
  const mtUniqueId id = new_id(), other = new_id();
  with_newcomers([&](int thread, mtComm_t comm) {
    if (comm == nullptr) return;
    mtComm_t all = comm;
    const mtUniqueId& mine = wrong.two_ids && thread == 1 ? other : id;
    const bool has = thread == 0 ? wrong.id0 : wrong.id1;
    EXPECT_EQ(mtCommGrow(comm, thread == 0 ? wrong.size0 : wrong.size1, has ? &mine : nullptr,
                         thread == 0 ? wrong.rank0 : wrong.rank1, &all, nullptr),
              mtInvalidArgument);
    EXPECT_EQ(all, nullptr);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr(wrong.words));
    EXPECT_THAT(gathered(comm, thread), ::testing::ElementsAre(0, 1));
  });
}

INSTANTIATE_TEST_SUITE_P(
    Grow, GrowsWrongly,
    ::testing::Values(
        Wrong{"Sizes", 3, 4, -1, -1, true, true, false, "found 3 at rank 0 and 4 at rank 1"},
        Wrong{"NoId", 3, 3, -1, -1, false, false, false, "expected an id"},
        Wrong{"TwoIds", 3, 3, -1, -1, true, true, true, "found two, at ranks 0 and 1"},
        Wrong{"TheSameRank", 3, 3, 1, -1, true, false, false, "found 1 at ranks 0 and 1"},
        Wrong{"Fewer", 1, 1, -1, -1, true, false, false, "nranks: expected the 2 of comm or more"},
        Wrong{"RankTooLarge", 3, 3, 3, 3, true, false, false, "rank: expected one below nranks"},
        Wrong{"RankTooSmall", 3, 3, -2, -2, true, false, false, "rank: expected one below"}),
    [](const auto& which) { return which.param.name; });

TEST(Grow, WhereNewcomersDoNotComeTheOldOneGoesOn) {
  const mtUniqueId id = new_id();
  with_newcomers([&](int thread, mtComm_t comm) {
    if (thread == 3) return;
    mtConfig_t config = loopback();
    config.initDeadlineMs = 300;
    mtComm_t all = nullptr;
    // The first that has waited long enough tells the others.
    EXPECT_THAT(mtCommGrow(comm, 4, &id, thread, &all, &config),
                ::testing::AnyOf(mtTimeout, mtRemoteError));
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("rank 3"));
    EXPECT_EQ(all, nullptr);
    if (comm != nullptr) {
      EXPECT_THAT(gathered(comm, thread), ::testing::ElementsAre(0, 1));
    }
  });
}

TEST(Grow, AnotherCallAtARankEndsBoth) {
  const mtUniqueId id = new_id();
  const mtUniqueId joined = new_id();
  const mtConfig_t config = loopback();
  in_threads(2, [&](int rank) {
    mtComm_t comm = nullptr, made = nullptr;
    ASSERT_EQ(mtCommInitRankConfig(&comm, 2, joined, rank, &config), mtSuccess);
    const mtResult_t result = rank == 0 ? mtCommGrow(comm, 3, &id, -1, &made, nullptr)
                                        : mtCommSplit(comm, 0, 0, &made, nullptr);
    EXPECT_EQ(result, mtRemoteError);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("rank"));
    EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
  });
}

TEST(Grow, WrongArgumentsOfNewcomers) {
  const mtUniqueId id = new_id();
  mtUniqueId made;
  mtComm_t all = nullptr;
  EXPECT_EQ(mtCommGrow(nullptr, 3, nullptr, 2, &all, nullptr), mtInvalidArgument);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("id"));
  EXPECT_EQ(mtCommGrow(nullptr, 3, &id, -1, &all, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtCommGrow(nullptr, 3, &id, 3, &all, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtCommGrow(nullptr, 3, &id, 0, nullptr, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtCommGetUniqueId(nullptr, &made), mtInvalidArgument);
  const Alone one;
  EXPECT_EQ(mtCommGetUniqueId(one.comm, nullptr), mtInvalidArgument);
}

}  // namespace
}  // namespace multitree::c_api_test
