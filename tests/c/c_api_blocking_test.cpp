// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocking calls: beside outstanding ones, ended by another thread, and of handles that are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// In the range of the enumeration, and none of its values.
constexpr auto kNoType = static_cast<mtDataType_t>(20);

class Blocking : public OnEveryPath {};

TEST_P(Blocking, CallsKeepTheirOrderBesideOutstandingOnes) {
  run(3, [](int rank, mtComm_t comm) {
    for (int round = 0; round < 20; ++round) {
      Numbers large(60'000, rank), small(7, rank == 1 ? round : -1);
      std::int32_t passed = 100 * rank + round, came = -1;
      mtRequest_t sum = nullptr, receipt = nullptr;
      ASSERT_EQ(mtIRecv(&came, 1, mtInt32, (rank + 2) % 3, comm, nullptr, &receipt), mtSuccess);
      ASSERT_EQ(mtIAllReduce(large.data(), large.data(), large.size(), mtInt32, mtSum, comm,
                             nullptr, &sum),
                mtSuccess);
      ASSERT_EQ(mtBroadcast(small.data(), small.data(), small.size(), mtInt32, 1, comm, nullptr),
                mtSuccess);
      EXPECT_EQ(small, Numbers(7, round));
      ASSERT_EQ(mtSend(&passed, 1, mtInt32, (rank + 1) % 3, comm, nullptr), mtSuccess);
      ASSERT_EQ(
          mtReduce(small.data(), small.data(), small.size(), mtInt32, mtSum, 2, comm, nullptr),
          mtSuccess);
      if (rank == 2) {
        EXPECT_EQ(small, Numbers(7, 3 * round));
      }
      ASSERT_EQ(mtRequestWait(receipt), mtSuccess);
      EXPECT_EQ(came, 100 * ((rank + 2) % 3) + round);
      ASSERT_EQ(mtRequestWait(sum), mtSuccess);
      EXPECT_EQ(large, Numbers(60'000, 3));
      EXPECT_EQ(mtRequestFree(&sum), mtSuccess);
      EXPECT_EQ(mtRequestFree(&receipt), mtSuccess);
    }
  });
}

/// Rank 0 waits for what rank 1 never does, until a thread of its own has had enough.
TEST_P(Blocking, AnotherThreadAborts) {
  const std::function<mtResult_t(mtComm_t)> calls[] = {
      [](mtComm_t comm) {
        std::int32_t number = 0;
        return mtBroadcast(&number, &number, 1, mtInt32, 1, comm, nullptr);
      },
      [](mtComm_t comm) {
        std::int32_t number = 0;
        return mtRecv(&number, 1, mtInt32, 1, comm, nullptr);
      },
      [](mtComm_t comm) {
        int sender = -1;
        return mtProbe(MT_ANY_PEER, comm, &sender);
      },
      [](mtComm_t comm) {
        Numbers numbers(100'000);
        return mtAllReduce(numbers.data(), numbers.data(), numbers.size(), mtInt32, mtSum, comm,
                           nullptr);
      }};
  for (const auto& call : calls) {
    run(2, [&](int rank, mtComm_t comm) {
      if (rank == 1) {
        mtResult_t result = mtSuccess;
        while (result == mtSuccess) {
          std::this_thread::sleep_for(1ms);
          ASSERT_EQ(mtCommGetAsyncError(comm, &result), mtSuccess);
        }
        EXPECT_EQ(result, mtRemoteError);
        return;
      }
      std::thread other([comm] {
        std::this_thread::sleep_for(50ms);
        EXPECT_EQ(mtCommAbort(comm), mtSuccess);
      });
      EXPECT_EQ(call(comm), mtAborted) << mtGetLastError(nullptr);
      other.join();
    });
  }
}

/// A thread that has just used a communicator is not served by what it remembers of it.
TEST_P(Blocking, HandlesThatAnotherThreadHasFreedAreKnown) {
  for (const bool aborts : {false, true}) {
    const mtUniqueId id = new_id();
    in_threads(2, [&](int rank) {
      mtConfig_t config = loopback();
      config.transport = GetParam().transport;
      config.algorithm = GetParam().algorithm;
      mtComm_t comm = nullptr;
      ASSERT_EQ(mtCommInitRankConfig(&comm, 2, id, rank, &config), mtSuccess);
      std::int32_t number = rank;
      const auto call = [&] { return mtBroadcast(&number, &number, 1, mtInt32, 0, comm, nullptr); };
      ASSERT_EQ(call(), mtSuccess);
      ASSERT_EQ(mtBarrier(comm), mtSuccess);
      std::thread([&] {
        EXPECT_EQ(aborts ? mtCommAbort(comm) : mtCommDestroy(comm), mtSuccess);
      }).join();
      EXPECT_EQ(call(), aborts ? mtAborted : mtInvalidArgument);
      EXPECT_THAT(mtGetLastError(nullptr), HasSubstr(aborts ? "aborted" : "destroyed"));
    });
  }
}

/// Two communicators of each rank, in turns.
TEST_P(Blocking, CommunicatorsAreToldApart) {
  run(2, [](int rank, mtComm_t first) {
    mtComm_t second = nullptr;
    ASSERT_EQ(mtCommSplit(first, 0, -rank, &second, nullptr), mtSuccess);  // the ranks reversed
    for (int call = 0; call < 300; ++call) {
      std::int32_t a = rank, b = rank;
      ASSERT_EQ(mtBroadcast(&a, &a, 1, mtInt32, 0, first, nullptr), mtSuccess);
      ASSERT_EQ(mtBroadcast(&b, &b, 1, mtInt32, 0, second, nullptr), mtSuccess);
      EXPECT_EQ(a, 0);
      EXPECT_EQ(b, 1);
    }
    EXPECT_EQ(mtCommDestroy(second), mtSuccess);
  });
}

TEST_P(Blocking, RootsAndPeersThatAreNoneAreRefused) {
  run(2, [](int, mtComm_t comm) {
    std::int32_t number = 0;
    EXPECT_EQ(mtBroadcast(&number, &number, 1, mtInt32, 2, comm, nullptr), mtInvalidArgument);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("root: expected a rank below 2, found 2"));
    EXPECT_EQ(mtSend(&number, 1, mtInt32, 2, comm, nullptr), mtInvalidArgument);
    EXPECT_EQ(mtRecv(nullptr, 1, mtInt32, 1, comm, nullptr), mtInvalidArgument);
    EXPECT_EQ(mtBroadcast(&number, &number, 1, kNoType, 0, comm, nullptr), mtInvalidArgument);
    EXPECT_EQ(mtReduce(&number, &number, 1, mtInt32, mtMaxRedOp, 0, comm, nullptr),
              mtInvalidArgument);
    EXPECT_EQ(mtBarrier(comm), mtSuccess) << "nothing of it has reached the others";
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, Blocking, all_paths(), name_of_path);

}  // namespace
}  // namespace multitree::c_api_test
