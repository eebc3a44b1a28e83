// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The C API by ranks and threads that share something: groups, memory, a communicator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "c_api_support.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::HasSubstr;

TEST(CApi, OneThreadIsManyRanks) {
  constexpr int kRanks = 4;
  const Together all(kRanks);
  std::vector<std::int32_t> in(kRanks), sums(kRanks), roots(kRanks);
  for (const int root : {2, 0, 2}) {
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    ASSERT_EQ(mtGroupStart(), mtSuccess);  // nested
    for (int r = 0; r < kRanks; ++r) {
      in[r] = 10 + r;
      EXPECT_EQ(mtAllReduce(&in[r], &sums[r], 1, mtInt32, mtSum, all.comms[r], nullptr), mtSuccess);
      EXPECT_EQ(mtBroadcast(&in[r], &roots[r], 1, mtInt32, root, all.comms[r], nullptr), mtSuccess);
    }
    ASSERT_EQ(mtGroupEnd(), mtSuccess);
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_THAT(sums, ::testing::Each(46));
    EXPECT_THAT(roots, ::testing::Each(10 + root));
  }
}

TEST(CApi, GathersToARootAndScattersFromIt) {
  constexpr int kRanks = 4, kCount = 3;
  const Together all(kRanks);
  std::vector<std::int32_t> all_of_it(kRanks * kCount, -1);
  std::vector<std::vector<std::int32_t>> in(kRanks), back(kRanks);
  for (const int root : {2, 0}) {
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (int r = 0; r < kRanks; ++r) {
      in[r] = {10 * r, 10 * r + 1, 10 * r + 2};
      back[r].assign(kCount, -1);
      std::int32_t* const recv = r == root ? all_of_it.data() : nullptr;
      EXPECT_EQ(mtGather(in[r].data(), recv, kCount, mtInt32, root, all.comms[r], nullptr),
                mtSuccess);
    }
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_THAT(all_of_it, ::testing::ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32));
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (int r = 0; r < kRanks; ++r) {
      const std::int32_t* const send = r == root ? all_of_it.data() : nullptr;
      EXPECT_EQ(mtScatter(send, back[r].data(), kCount, mtInt32, root, all.comms[r], nullptr),
                mtSuccess);
    }
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_EQ(back, in);
  }
}

TEST(CApi, AWrongCallSpoilsItsGroup) {
  const Together all(2);
  float data[2] = {1, 2};
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  EXPECT_EQ(mtAllReduce(&data[0], &data[0], 1, mtFloat, mtSum, all.comms[0], nullptr), mtSuccess);
  EXPECT_EQ(mtAllReduce(nullptr, &data[1], 1, mtFloat, mtSum, all.comms[1], nullptr),
            mtInvalidArgument);
  EXPECT_EQ(mtBarrier(all.comms[0]), mtInvalidUsage);
  EXPECT_EQ(mtGroupEnd(), mtInvalidArgument);
  EXPECT_STREQ(mtGetLastError(nullptr), "allreduce: send is null");
  EXPECT_EQ(mtGroupEnd(), mtInvalidUsage);
  EXPECT_EQ(data[0], 1);
  // Nothing was started: both still agree about what comes next.
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(mtAllReduce(&data[r], &data[r], 1, mtFloat, mtSum, all.comms[r], nullptr), mtSuccess);
  }
  EXPECT_EQ(mtGroupEnd(), mtSuccess);
  EXPECT_THAT(data, ::testing::Each(3));
}

TEST(CApi, MemoryIsOfItsCommunicator) {
  const Alone one, other;
  void* pointer = nullptr;
  ASSERT_EQ(mtMemAlloc(&pointer, 5000, one.comm), mtSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 4096, 0);
  EXPECT_EQ(mtMemFree(pointer, other.comm), mtInvalidArgument);
  EXPECT_EQ(mtMemFree(pointer, one.comm), mtSuccess);
  EXPECT_EQ(mtMemFree(pointer, one.comm), mtInvalidArgument);
  EXPECT_EQ(mtMemFree(nullptr, one.comm), mtSuccess);
  EXPECT_EQ(mtMemAlloc(&pointer, 0, one.comm), mtSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(mtMemAlloc(&pointer, std::numeric_limits<std::size_t>::max(), one.comm), mtSystemError);
  EXPECT_EQ(mtMemAlloc(&pointer, 100, one.comm), mtSuccess);  // left to the communicator
  void* plain = nullptr;
  ASSERT_EQ(mtMemAlloc(&plain, 100, nullptr), mtSuccess);
  EXPECT_EQ(mtMemFree(plain, one.comm), mtInvalidArgument);
  EXPECT_EQ(mtMemFree(pointer, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtMemFree(plain, nullptr), mtSuccess);
}

TEST(CApi, MemoryIsSharedInAGroupAndOutlivesFinalize) {
  constexpr int kRanks = 3;
  const Together all(kRanks);
  void* memory[kRanks][2] = {};
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (int r = 0; r < kRanks; ++r) {
    for (void*& one : memory[r]) EXPECT_EQ(mtMemAlloc(&one, 8, all.comms[r]), mtSuccess);
  }
  EXPECT_EQ(memory[0][0], nullptr);
  ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (int r = 0; r < kRanks; ++r) {
    *static_cast<std::int64_t*>(memory[r][0]) = 1 << r;
    EXPECT_EQ(mtAllReduce(memory[r][0], memory[r][1], 1, mtInt64, mtSum, all.comms[r], nullptr),
              mtSuccess);
  }
  ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  for (const auto& of_rank : memory) EXPECT_EQ(*static_cast<std::int64_t*>(of_rank[1]), 7);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (const mtComm_t comm : all.comms) EXPECT_EQ(mtCommFinalize(comm), mtSuccess);
  ASSERT_EQ(mtGroupEnd(), mtSuccess);
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(*static_cast<std::int64_t*>(memory[r][1]), 7) << "finalizing frees nothing";
    EXPECT_EQ(mtMemFree(memory[r][0], all.comms[r]), mtSuccess);
  }
}

TEST(CApi, BackgroundSetUpAndFinalize) {
  mtConfig_t config = loopback();
  config.blocking = 0;
  const mtUniqueId id = new_id();
  in_threads(3, [&](int rank) {
    mtComm_t comm = nullptr;
    mtResult_t state = mtInProgress;
    ASSERT_EQ(mtCommInitRankConfig(&comm, 3, id, rank, &config), mtInProgress);
    while (state == mtInProgress) ASSERT_EQ(mtCommGetAsyncError(comm, &state), mtSuccess);
    EXPECT_EQ(state, mtSuccess) << mtGetLastError(comm);
    float one = 1;
    EXPECT_EQ(mtAllReduce(&one, &one, 1, mtFloat, mtSum, comm, nullptr), mtSuccess);
    EXPECT_EQ(one, 3);
    EXPECT_EQ(mtCommFinalize(comm), mtInProgress);
    state = mtInProgress;
    while (state == mtInProgress) ASSERT_EQ(mtCommGetAsyncError(comm, &state), mtSuccess);
    EXPECT_EQ(state, mtSuccess) << mtGetLastError(comm);
    EXPECT_EQ(mtBarrier(comm), mtInvalidUsage);
    EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
  });
}

TEST(CApi, AbortFreesABlockedThreadAndTellsTheOthers) {
  const mtUniqueId id = new_id();
  const mtConfig_t config = loopback();
  in_threads(3, [&](int rank) {
    mtComm_t comm = nullptr;
    ASSERT_EQ(mtCommInitRankConfig(&comm, 3, id, rank, &config), mtSuccess);
    float one = 1;
    if (rank == 2) {  // never calls
      mtResult_t state = mtSuccess;
      while (state == mtSuccess) ASSERT_EQ(mtCommGetAsyncError(comm, &state), mtSuccess);
      EXPECT_EQ(state, mtRemoteError);
    } else if (rank == 1) {
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        EXPECT_EQ(mtCommAbort(comm), mtSuccess);
      });
      EXPECT_EQ(mtAllReduce(&one, &one, 1, mtFloat, mtSum, comm, nullptr), mtAborted);
      other.join();
      return;
    } else {
      EXPECT_EQ(mtAllReduce(&one, &one, 1, mtFloat, mtSum, comm, nullptr), mtRemoteError);
    }
    EXPECT_THAT(mtGetLastError(comm), HasSubstr("rank 1 gave up: aborted"));
    EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
  });
}

TEST(CApi, ThreadsShareACommunicator) {
  // Two threads a rank, each with requests of its own, in an order that all ranks share.
  const mtUniqueId id = new_id();
  const mtConfig_t config = loopback();
  in_threads(2, [&](int rank) {
    mtComm_t comm = nullptr;
    ASSERT_EQ(mtCommInitRankConfig(&comm, 2, id, rank, &config), mtSuccess);
    std::vector<float> data(64, 1.0F);
    std::vector<mtRequest_t> requests(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      ASSERT_EQ(mtIAllReduce(&data[i], &data[i], 1, mtFloat, mtSum, comm, nullptr, &requests[i]),
                mtSuccess);
    }
    in_threads(2, [&](int thread) {
      for (std::size_t i = static_cast<std::size_t>(thread); i < data.size(); i += 2) {
        EXPECT_EQ(mtRequestWait(requests[i]), mtSuccess);
      }
    });
    EXPECT_THAT(data, ::testing::Each(2));
    for (mtRequest_t& request : requests) EXPECT_EQ(mtRequestFree(&request), mtSuccess);
    EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
  });
}

}  // namespace
}  // namespace multitree::c_api_test
