// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parts of communicators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "c_api_support.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::HasSubstr;

/// Over messages by a thread for each rank; `body(rank, comm)`.
void split_in_threads(const mtConfig_t& config, int ranks,
                      const std::function<void(int, mtComm_t)>& body) {
  const mtUniqueId id = new_id();
  in_threads(ranks, [&](int rank) {
    mtComm_t comm = nullptr;
    ASSERT_EQ(mtCommInitRankConfig(&comm, ranks, id, rank, &config), mtSuccess);
    body(rank, comm);
    EXPECT_EQ(mtCommDestroy(comm), mtSuccess) << mtGetLastError(nullptr);
  });
}

TEST(Split, ColorsPartAndKeysOrder) {
  for (const char* const algorithm : {"auto", "ring"}) {
    mtConfig_t config = loopback();
    config.algorithm = algorithm;
    split_in_threads(config, 5, [](int rank, mtComm_t comm) {
      mtComm_t part = nullptr;
      ASSERT_EQ(mtCommSplit(comm, rank % 2, -rank, &part, nullptr), mtSuccess)
          << mtGetLastError(nullptr);
      const std::vector<std::vector<int>> members{{4, 2, 0}, {3, 1}};
      const std::vector<int>& mine = members[rank % 2];
      int size = 0, self = -1;
      EXPECT_EQ(mtCommCount(part, &size), mtSuccess);
      EXPECT_EQ(mtCommUserRank(part, &self), mtSuccess);
      ASSERT_EQ(size, static_cast<int>(mine.size()));
      EXPECT_EQ(mine[self], rank);
      std::vector<int> found(size);
      EXPECT_EQ(mtAllGather(&rank, found.data(), 1, mtInt32, part, nullptr), mtSuccess);
      EXPECT_EQ(found, mine);
      int sum = 0;  // and the whole goes on
      EXPECT_EQ(mtAllReduce(&rank, &sum, 1, mtInt32, mtSum, comm, nullptr), mtSuccess);
      EXPECT_EQ(sum, 10);
      EXPECT_EQ(mtCommDestroy(part), mtSuccess);
    });
  }
}

TEST(Split, SomeAreLeftOutAndPartsArePartedAgain) {
  mtConfig_t config = loopback();
  config.topology = "ring:4";  // of all four; a part has another
  split_in_threads(config, 4, [](int rank, mtComm_t comm) {
    mtComm_t part = nullptr, single = nullptr;
    const int color = rank == 1 ? MT_SPLIT_NOCOLOR : 7;
    ASSERT_EQ(mtCommSplit(comm, color, 0, &part, nullptr), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_EQ(part == nullptr, rank == 1);
    if (rank == 1) return;
    ASSERT_EQ(mtCommSplit(part, rank, 0, &single, nullptr), mtSuccess);
    int size = 0;
    EXPECT_EQ(mtCommCount(single, &size), mtSuccess);
    EXPECT_EQ(size, 1);
    EXPECT_EQ(mtCommDestroy(single), mtSuccess);
    EXPECT_EQ(mtCommDestroy(part), mtSuccess);
  });
}

TEST(Split, WhatIsOutstandingIsFinished) {
  split_in_threads(loopback(), 2, [](int rank, mtComm_t comm) {
    int sum = 0;
    mtRequest_t request = nullptr;
    mtComm_t part = nullptr;
    ASSERT_EQ(mtIAllReduce(&rank, &sum, 1, mtInt32, mtSum, comm, nullptr, &request), mtSuccess);
    ASSERT_EQ(mtCommSplit(comm, 0, 0, &part, nullptr), mtSuccess);
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    EXPECT_EQ(mtCommDestroy(part), mtSuccess);
  });
}

TEST(Split, InAGroupAndInTheBackground) {
  const Together all(4);
  std::vector<mtComm_t> rows(4), columns(4);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(mtCommSplit(all.comms[r], r / 2, r, &rows[r], nullptr), mtSuccess);
    EXPECT_EQ(mtCommSplit(all.comms[r], r % 2, r, &columns[r], nullptr), mtSuccess);
  }
  ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  std::vector<int> in{1, 10, 100, 1000}, row(4), column(4);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(mtAllReduce(&in[r], &row[r], 1, mtInt32, mtSum, rows[r], nullptr), mtSuccess);
    EXPECT_EQ(mtAllReduce(&in[r], &column[r], 1, mtInt32, mtSum, columns[r], nullptr), mtSuccess);
  }
  ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  EXPECT_THAT(row, ::testing::ElementsAre(11, 11, 1100, 1100));
  EXPECT_THAT(column, ::testing::ElementsAre(101, 1010, 101, 1010));
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (const auto& parts : {rows, columns}) {
    for (const mtComm_t part : parts) EXPECT_EQ(mtCommDestroy(part), mtSuccess);
  }
  ASSERT_EQ(mtGroupEnd(), mtSuccess);

  split_in_threads(loopback(), 2, [](int rank, mtComm_t comm) {
    mtConfig_t config = loopback();
    config.blocking = 0;
    mtComm_t part = nullptr;
    ASSERT_EQ(mtCommSplit(comm, 0, 0, &part, &config), mtInProgress);
    mtResult_t state = mtInProgress;
    while (state == mtInProgress) ASSERT_EQ(mtCommGetAsyncError(part, &state), mtSuccess);
    EXPECT_EQ(state, mtSuccess) << rank;
    mtCommDestroy(part);
  });
}

TEST(Split, GroupsAreMadeByTheirMembersAlone) {
  split_in_threads(loopback(), 4, [](int rank, mtComm_t comm) {
    const std::vector<int> members{3, 0, 2};
    for (int round = 0; round < 3; ++round) {
      if (rank == 1) break;
      mtComm_t part = nullptr;
      ASSERT_EQ(mtCommCreateGroup(comm, members.data(), 3, 5, &part, nullptr), mtSuccess)
          << mtGetLastError(nullptr);
      int self = -1, sum = 0;
      EXPECT_EQ(mtCommUserRank(part, &self), mtSuccess);
      EXPECT_EQ(members[self], rank);
      EXPECT_EQ(mtAllReduce(&rank, &sum, 1, mtInt32, mtSum, part, nullptr), mtSuccess);
      EXPECT_EQ(sum, 5);
      EXPECT_EQ(mtCommDestroy(part), mtSuccess);
    }
    mtComm_t none = comm;
    const std::vector<int> others{(rank + 1) % 4}, twice{rank, rank}, beyond{rank, 4};
    EXPECT_EQ(mtCommCreateGroup(comm, others.data(), 1, 0, &none, nullptr), mtInvalidArgument);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("expected this rank"));
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(mtCommCreateGroup(comm, twice.data(), 2, 0, &none, nullptr), mtInvalidArgument);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("twice"));
    EXPECT_EQ(mtCommCreateGroup(comm, beyond.data(), 2, 0, &none, nullptr), mtInvalidArgument);
    EXPECT_EQ(mtGetLastError(nullptr), std::string("ranks: expected each below 4 once, found 4"));
    EXPECT_EQ(mtCommCreateGroup(comm, twice.data(), 1, -1, &none, nullptr), mtInvalidArgument);
    EXPECT_EQ(mtCommCreateGroup(comm, nullptr, 1, 0, &none, nullptr), mtInvalidArgument);
  });
}

/// The whole goes first, and of the parts some earlier than others; also parts of parts.
TEST(Split, AreDestroyedInAnyOrder) {
  const mtUniqueId id = new_id();
  const mtConfig_t config = loopback();
  in_threads(4, [&](int rank) {
    mtComm_t whole = nullptr, pair = nullptr, others = nullptr, again = nullptr;
    ASSERT_EQ(mtCommInitRankConfig(&whole, 4, id, rank, &config), mtSuccess);
    ASSERT_EQ(mtCommSplit(whole, rank / 2, 0, &pair, nullptr), mtSuccess);
    ASSERT_EQ(mtCommSplit(whole, rank == 0 ? MT_SPLIT_NOCOLOR : 0, -rank, &others, nullptr),
              mtSuccess);
    ASSERT_EQ(mtCommDestroy(whole), mtSuccess);
    ASSERT_EQ(mtCommSplit(pair, 0, -rank, &again, nullptr), mtSuccess);
    ASSERT_EQ(mtCommDestroy(pair), mtSuccess);
    int sum = 0;
    EXPECT_EQ(mtAllReduce(&rank, &sum, 1, mtInt32, mtSum, again, nullptr), mtSuccess);
    EXPECT_EQ(sum, rank / 2 == 0 ? 1 : 5);
    EXPECT_EQ(mtCommDestroy(again), mtSuccess);
    if (rank == 0) return;
    EXPECT_EQ(mtAllReduce(&rank, &sum, 1, mtInt32, mtSum, others, nullptr), mtSuccess);
    EXPECT_EQ(sum, 6);
    EXPECT_EQ(mtCommDestroy(others), mtSuccess);
  });
}

TEST(Split, APartFailsAndShrinksAlone) {
  split_in_threads(loopback(), 4, [](int rank, mtComm_t comm) {
    mtComm_t part = nullptr, left = nullptr;
    ASSERT_EQ(mtCommSplit(comm, rank == 3 ? 1 : 0, 0, &part, nullptr), mtSuccess);
    int sum = 0;
    if (rank == 1) {  // not where the others of the part meet
      EXPECT_EQ(mtCommAbort(part), mtSuccess);
    } else if (rank != 3) {
      EXPECT_EQ(mtAllReduce(&rank, &sum, 1, mtInt32, mtSum, part, nullptr), mtRemoteError);
      EXPECT_THAT(mtGetLastError(part), HasSubstr("rank 1"));
      ASSERT_EQ(mtCommShrink(part, nullptr, 0, &left, nullptr, MT_SHRINK_DEFAULT), mtSuccess)
          << mtGetLastError(nullptr);
      EXPECT_EQ(mtCommDestroy(part), mtSuccess);
      EXPECT_EQ(mtAllReduce(&rank, &sum, 1, mtInt32, mtSum, left, nullptr), mtSuccess);
      EXPECT_EQ(sum, 2);
      EXPECT_EQ(mtCommDestroy(left), mtSuccess);
    } else {
      EXPECT_EQ(mtCommDestroy(part), mtSuccess);
    }
    EXPECT_EQ(mtAllReduce(&rank, &sum, 1, mtInt32, mtSum, comm, nullptr), mtSuccess);
    EXPECT_EQ(sum, 6);
  });
}

TEST(Split, WrongArgumentsChangeNothing) {
  const Alone one;
  mtComm_t part = one.comm;
  EXPECT_EQ(mtCommSplit(one.comm, -2, 0, &part, nullptr), mtInvalidArgument);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("color: expected 0 or more"));
  EXPECT_EQ(part, nullptr);
  EXPECT_EQ(mtCommSplit(one.comm, 0, 0, nullptr, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtCommSplit(nullptr, 0, 0, &part, nullptr), mtInvalidArgument);
}

}  // namespace
}  // namespace multitree::c_api_test
