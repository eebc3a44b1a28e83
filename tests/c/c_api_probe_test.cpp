// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtProbe(), mtIProbe(): whose message has come, on every path of host memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Probe : public OnEveryPath {};

/// From nothing over what travels with its header, and what is offered as a whole, to segments.
constexpr std::size_t kSizes[] = {1, 0, 700'000, 1024, 1025, 5, 4'200'000, 6000, 2};

Numbers data_of(int from, std::size_t count) {
  return Numbers(count, 1000 * from + static_cast<std::int32_t>(count));
}

void send_to(mtComm_t comm, int peer, const Numbers& numbers) {
  ASSERT_EQ(mtSend(numbers.data(), numbers.size(), mtInt32, peer, comm, nullptr), mtSuccess)
      << mtGetLastError(nullptr);
}

void receive_from(mtComm_t comm, int peer, std::size_t count) {
  Numbers in(count, -1);
  ASSERT_EQ(mtRecv(in.data(), count, mtInt32, peer, comm, nullptr), mtSuccess)
      << mtGetLastError(nullptr);
  EXPECT_EQ(in, data_of(peer, count));
}

/// Those of each rank in order, whoever is first.
TEST_P(Probe, AnyFindsWhatAllHaveSent) {
  for (const int ranks : {2, 5}) {
    run(ranks, [&](int rank, mtComm_t comm) {
      if (rank != 0) {
        for (const std::size_t length : kSizes) send_to(comm, 0, data_of(rank, length));
        return;
      }
      std::vector<std::size_t> taken(ranks);
      for (std::size_t i = 0; i < (ranks - 1) * std::size(kSizes); ++i) {
        int sender = -1;
        ASSERT_EQ(mtProbe(MT_ANY_PEER, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
        ASSERT_GT(sender, 0);
        ASSERT_LT(taken[sender], std::size(kSizes)) << "of rank " << sender;
        receive_from(comm, sender, kSizes[taken[sender]++]);
      }
    });
  }
}

TEST_P(Probe, OneRankIsFoundBesideOthers) {
  run(3, [&](int rank, mtComm_t comm) {
    if (rank != 0) return send_to(comm, 0, data_of(rank, 10));
    for (const int peer : {2, 1}) {
      int sender = -1;
      ASSERT_EQ(mtProbe(peer, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
      EXPECT_EQ(sender, peer);
    }
    for (const int peer : {2, 1}) receive_from(comm, peer, 10);
  });
}

/// What a receive is posted for is not found; the message after it is.
TEST_P(Probe, ReceivesThatWerePostedKeepTheirMessages) {
  for (const std::size_t length : {std::size_t{3}, std::size_t{20'000}}) {
    run(2, [&](int rank, mtComm_t comm) {
      if (rank == 1) {
        int sender = -1;
        ASSERT_EQ(mtProbe(0, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
        receive_from(comm, 0, 1);
        send_to(comm, 0, data_of(1, length));
        return send_to(comm, 0, data_of(1, length + 1));
      }
      Numbers first(length, -1);
      mtRequest_t request = nullptr;
      ASSERT_EQ(mtIRecv(first.data(), length, mtInt32, 1, comm, nullptr, &request), mtSuccess);
      int sender = 7;
      EXPECT_EQ(mtIProbe(MT_ANY_PEER, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
      EXPECT_EQ(sender, -1) << "nothing was sent";
      send_to(comm, 1, data_of(0, 1));
      ASSERT_EQ(mtRequestWait(request), mtSuccess) << mtGetLastError(nullptr);
      EXPECT_EQ(first, data_of(1, length));
      EXPECT_EQ(mtRequestFree(&request), mtSuccess);
      ASSERT_EQ(mtProbe(MT_ANY_PEER, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
      EXPECT_EQ(sender, 1);
      receive_from(comm, 1, length + 1);
      EXPECT_EQ(mtIProbe(1, comm, &sender), mtSuccess);
      EXPECT_EQ(sender, -1) << "all is received";
    });
  }
}

TEST_P(Probe, AllSendersHaveTheirTurn) {
  constexpr int kRanks = 4;
  run(kRanks, [&](int rank, mtComm_t comm) {
    if (rank != 0) return send_to(comm, 0, data_of(rank, 3));
    int sender = -1;
    for (int peer = 1; peer < kRanks; ++peer) {
      ASSERT_EQ(mtProbe(peer, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
    }
    for (int round = 0; round < 2; ++round) {
      std::set<int> senders;
      for (int peer = 1; peer < kRanks; ++peer) {
        ASSERT_EQ(mtIProbe(MT_ANY_PEER, comm, &sender), mtSuccess);
        senders.insert(sender);
      }
      EXPECT_EQ(senders, std::set<int>({1, 2, 3}));
    }
    for (int peer = 1; peer < kRanks; ++peer) receive_from(comm, peer, 3);
  });
}

/// Beside collectives, and with sleeps in between.
TEST_P(Probe, LooksAgainAndAgain) {
  constexpr int kRanks = 3, kRounds = 10;
  run(kRanks, [&](int rank, mtComm_t comm) {
    for (int round = 0; round < kRounds; ++round) {
      const int root = round % kRanks;
      Numbers numbers(100, rank);
      if (rank == root) {
        for (int left = kRanks - 1; left > 0; --left) {
          int sender = -1;
          while (sender < 0) {
            ASSERT_EQ(mtIProbe(MT_ANY_PEER, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
            if (sender >= 0) break;
            ASSERT_EQ(mtCommSleep(comm, 1000), mtSuccess);
          }
          receive_from(comm, sender, 50 + round);
        }
      } else {
        send_to(comm, root, data_of(rank, 50 + round));
      }
      ASSERT_EQ(mtAllReduce(numbers.data(), numbers.data(), numbers.size(), mtInt32, mtSum, comm,
                            nullptr),
                mtSuccess);
      EXPECT_EQ(numbers, Numbers(100, 3));
    }
  });
}

TEST_P(Probe, MessagesToItselfAreFound) {
  run(2, [&](int rank, mtComm_t comm) {
    int sender = -1;
    EXPECT_EQ(mtIProbe(rank, comm, &sender), mtSuccess);
    EXPECT_EQ(sender, -1);
    const Numbers out = data_of(rank, 4);
    mtRequest_t request = nullptr;
    ASSERT_EQ(mtISend(out.data(), 4, mtInt32, rank, comm, nullptr, &request), mtSuccess);
    ASSERT_EQ(mtProbe(MT_ANY_PEER, comm, &sender), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_EQ(sender, rank);
    receive_from(comm, rank, 4);
    EXPECT_EQ(mtRequestFree(&request), mtSuccess);
  });
}

/// They change nothing.
TEST_P(Probe, WrongCallsAreRefused) {
  run(2, [](int, mtComm_t comm) {
    int sender = -1;
    EXPECT_EQ(mtProbe(2, comm, &sender), mtInvalidArgument);
    EXPECT_THAT(mtGetLastError(nullptr),
                HasSubstr("probe: peer: expected a rank below 2, found 2"));
    EXPECT_EQ(mtIProbe(3, comm, &sender), mtInvalidArgument);
    EXPECT_EQ(mtIProbe(-2, comm, &sender), mtInvalidArgument);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("a rank or MT_ANY_PEER, found -2"));
    EXPECT_EQ(mtProbe(1, comm, nullptr), mtInvalidArgument);
    EXPECT_EQ(mtIProbe(1, comm, nullptr), mtInvalidArgument);
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    EXPECT_EQ(mtIProbe(1, comm, &sender), mtSuccess);
    EXPECT_EQ(mtProbe(1, comm, &sender), mtInvalidUsage);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("mtGroupEnd() first"));
    EXPECT_EQ(mtGroupEnd(), mtInvalidUsage);
    EXPECT_EQ(mtBarrier(comm), mtSuccess) << "nothing of it has reached the others";
  });
}

TEST_P(Probe, TellsOfAnotherRanksAbort) {
  for (const bool waits : {false, true}) {
    run(2, [&](int rank, mtComm_t comm) {
      if (rank == 1) {
        EXPECT_EQ(mtCommAbort(comm), mtSuccess);
        return;
      }
      int sender = -1;
      mtResult_t result = mtSuccess;
      while (result == mtSuccess && sender < 0) {
        result = waits ? mtProbe(MT_ANY_PEER, comm, &sender) : mtIProbe(MT_ANY_PEER, comm, &sender);
      }
      EXPECT_EQ(result, mtRemoteError);
      EXPECT_THAT(mtGetLastError(comm), HasSubstr("rank 1"));
      EXPECT_EQ(mtIProbe(MT_ANY_PEER, comm, &sender), mtRemoteError) << "it has failed";
    });
  }
}

/// In words that say what for.
TEST_P(Probe, WaitsNoLongerThanTheDeadline) {
  for (const int peer : {MT_ANY_PEER, 1}) {
    const mtUniqueId id = new_id();
    in_threads(2, [&](int rank) {
      mtConfig_t config = loopback();
      config.transport = GetParam().transport;
      config.algorithm = GetParam().algorithm;
      if (rank == 0) config.deadlineMs = 300;
      mtComm_t comm = nullptr;
      ASSERT_EQ(mtCommInitRankConfig(&comm, 2, id, rank, &config), mtSuccess)
          << mtGetLastError(nullptr);
      int sender = -1;
      if (rank == 0) {
        EXPECT_EQ(mtProbe(peer, comm, &sender), mtTimeout);
        EXPECT_THAT(mtGetLastError(comm), HasSubstr("probe: no progress for 300 ms"));
        EXPECT_THAT(mtGetLastError(comm),
                    HasSubstr(peer == 1 ? "waiting for a message from rank 1"
                                        : "waiting for a message from any rank"));
      } else {
        mtResult_t result = mtSuccess;
        while (result == mtSuccess) {
          std::this_thread::sleep_for(1ms);
          ASSERT_EQ(mtCommGetAsyncError(comm, &result), mtSuccess);
        }
        EXPECT_EQ(result, mtRemoteError);
      }
      mtCommDestroy(comm);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, Probe, all_paths(), name_of_path);

}  // namespace
}  // namespace multitree::c_api_test
