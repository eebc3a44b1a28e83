// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Groups: small calls that travel as one, beside those that do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

class Groups : public OnEveryPath {};

Numbers counted(std::size_t count, int seed) {
  Numbers numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i % 97) + 100 * seed;
  return numbers;
}

TEST_P(Groups, EveryCollectiveGivesWhatItGivesAlone) {
  constexpr std::size_t kRanks = 3;
  run(kRanks, [&](int rank, mtComm_t comm) {
    // Small ones of odd lengths, an empty one, and one that is too large to go with others.
    const std::vector<std::size_t> lengths{1, 7, 0, 16, 1000, 3, 50'000, 2};
    constexpr int kOf = 8;
    std::vector<std::vector<Numbers>> in(kOf), out(kOf), alone(kOf);
    const auto call = [&](int which, const Numbers& from, Numbers& to, std::size_t count) {
      const void* const send = from.data();
      void* const recv = to.data();
      constexpr int kRoot = 1;
      switch (which) {
        case 0:
          return mtAllReduce(send, recv, count, mtInt32, mtSum, comm, nullptr);
        case 1:
          return mtAllReduce(send, recv, count, mtInt32, mtMax, comm, nullptr);
        case 2:
          return mtReduce(send, recv, count, mtInt32, mtSum, kRoot, comm, nullptr);
        case 3:
          return mtBroadcast(send, recv, count, mtInt32, kRoot, comm, nullptr);
        case 4:
          return mtAllGather(send, recv, count, mtInt32, comm, nullptr);
        case 5:
          return mtReduceScatter(send, recv, count, mtInt32, mtSum, comm, nullptr);
        case 6:
          return mtGather(send, recv, count, mtInt32, kRoot, comm, nullptr);
        default:
          return mtScatter(send, recv, count, mtInt32, kRoot, comm, nullptr);
      }
    };
    for (int which = 0; which < kOf; ++which) {
      for (const std::size_t length : lengths) {
        in[which].push_back(counted(length * kRanks, 3 * rank + which));
        out[which].emplace_back(length * kRanks, -1);
        alone[which].emplace_back(length * kRanks, -1);
      }
    }
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      for (int which = 0; which < kOf; ++which) {
        EXPECT_EQ(call(which, in[which][i], out[which][i], lengths[i]), mtSuccess);
      }
    }
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    for (int which = 0; which < kOf; ++which) {
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        ASSERT_EQ(call(which, in[which][i], alone[which][i], lengths[i]), mtSuccess);
        EXPECT_EQ(out[which][i], alone[which][i]) << which << ", " << lengths[i] << " elements";
      }
    }
  });
}

TEST_P(Groups, RequestsAndPlacesAreTheirOwn) {
  run(3, [&](int, mtComm_t comm) {
    constexpr std::size_t kCalls = 300;  // more than go together at once
    std::vector<Numbers> data;
    std::vector<mtRequest_t> requests(kCalls);
    for (std::size_t i = 0; i < kCalls; ++i) data.push_back(counted(100, static_cast<int>(i)));
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    for (std::size_t i = 0; i < kCalls; ++i) {
      void* const place = data[i].data();
      EXPECT_EQ(mtIAllReduce(place, place, 100, mtInt32, mtSum, comm, nullptr, &requests[i]),
                mtSuccess);
    }
    int done = -1;
    EXPECT_EQ(mtRequestTest(requests[0], &done), mtInvalidUsage);
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    for (std::size_t i = kCalls; i-- > 0;) {
      EXPECT_EQ(mtRequestWait(requests[i]), mtSuccess);
      EXPECT_EQ(data[i][99], 3 * (2 + 100 * static_cast<int>(i)));
      EXPECT_EQ(mtRequestFree(&requests[i]), mtSuccess);
    }
  });
}

TEST_P(Groups, OperatorsOfUsersStayAlone) {
  run(2, [&](int rank, mtComm_t comm) {
    float factor = rank == 0 ? 2 : 3;
    mtRedOp_t scaled;
    ASSERT_EQ(mtRedOpCreatePreMulSum(&scaled, &factor, mtFloat32, mtScalarHostImmediate, comm),
              mtSuccess);
    std::vector<float> in(4, 1), plain(4), multiplied(4), again(4);
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    mtAllReduce(in.data(), plain.data(), 4, mtFloat32, mtSum, comm, nullptr);
    mtAllReduce(in.data(), multiplied.data(), 4, mtFloat32, scaled, comm, nullptr);
    mtAllReduce(in.data(), again.data(), 4, mtFloat32, mtAvg, comm, nullptr);
    ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_THAT(plain, Each(2));
    EXPECT_THAT(multiplied, Each(5));
    EXPECT_THAT(again, Each(1));
    EXPECT_EQ(mtRedOpDestroy(scaled, comm), mtSuccess);
  });
}

TEST_P(Groups, GroupsThatDifferNameBothRanks) {
  // As many elements in all, cut otherwise.
  run(2, [&](int rank, mtComm_t comm) {
    Numbers in(20, 1), out(20, -1);
    const std::size_t first = rank == 0 ? 8 : 12;
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    mtAllReduce(in.data(), out.data(), first, mtInt32, mtSum, comm, nullptr);
    mtAllReduce(in.data(), out.data() + first, 20 - first, mtInt32, mtSum, comm, nullptr);
    EXPECT_THAT(mtGroupEnd(), AnyOf(mtInvalidArgument, mtRemoteError));
    EXPECT_THAT(mtGetLastError(nullptr),
                AllOf(HasSubstr("rank 0 calls allreduce of 20 int32, sum, several of a group"),
                      HasSubstr("rank 1 calls allreduce of 20 int32, sum, several of a group")));
    EXPECT_THAT(out, Each(-1));
  });
}

TEST_P(Groups, ACallThatIsWrongIsNamed) {
  run(2, [&](int, mtComm_t comm) {
    Numbers in(4, 1), out(4, -1);
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    EXPECT_EQ(mtAllReduce(in.data(), out.data(), 4, mtInt32, mtSum, comm, nullptr), mtSuccess);
    EXPECT_EQ(mtAllReduce(in.data(), nullptr, 4, mtInt32, mtSum, comm, nullptr), mtInvalidArgument);
    EXPECT_EQ(mtGroupEnd(), mtInvalidArgument);
    EXPECT_STREQ(mtGetLastError(nullptr), "allreduce: recv is null");
    EXPECT_THAT(out, Each(-1));
    EXPECT_EQ(mtAllReduce(in.data(), out.data(), 4, mtInt32, mtSum, comm, nullptr), mtSuccess);
    EXPECT_THAT(out, Each(2));
  });
}

TEST_P(Groups, AllOfThemFailWithTheirCommunicator) {
  run(2, [&](int rank, mtComm_t comm) {
    Numbers data(8, 1);
    if (rank == 1) {
      EXPECT_EQ(mtCommAbort(comm), mtSuccess);
      return;
    }
    mtRequest_t requests[2] = {};
    ASSERT_EQ(mtGroupStart(), mtSuccess);
    const bool started = mtIAllReduce(&data[0], &data[0], 4, mtInt32, mtSum, comm, nullptr,
                                      &requests[0]) == mtSuccess &&
                         mtIAllReduce(&data[4], &data[4], 4, mtInt32, mtSum, comm, nullptr,
                                      &requests[1]) == mtSuccess;
    const mtResult_t result = mtGroupEnd();
    if (!started || result != mtSuccess) {  // it was known already
      EXPECT_EQ(result, mtRemoteError);
    } else {
      for (mtRequest_t& request : requests) EXPECT_EQ(mtRequestWait(request), mtRemoteError);
    }
    for (mtRequest_t& request : requests) mtRequestFree(&request);
  });
}

TEST(Group, WhatCouldNotBeStartedSaysWhy) {
  mtComm_t comm = nullptr;
  ASSERT_EQ(mtCommInitRank(&comm, 1, new_id(), 0), mtSuccess);
  int number = 1, done = 0;
  mtRequest_t once = nullptr, again = nullptr;
  ASSERT_EQ(mtAllReduceInit(&number, &number, 1, mtInt32, mtSum, comm, nullptr, &again), mtSuccess);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  ASSERT_EQ(mtIAllReduce(&number, &number, 1, mtInt32, mtSum, comm, nullptr, &once), mtSuccess);
  ASSERT_EQ(mtStart(again), mtSuccess);
  ASSERT_EQ(mtCommAbort(comm), mtSuccess);
  EXPECT_EQ(mtGroupEnd(), mtAborted);
  EXPECT_EQ(mtRequestTest(once, &done), mtAborted) << mtGetLastError(nullptr);
  EXPECT_EQ(mtRequestWait(again), mtAborted) << mtGetLastError(nullptr);
  EXPECT_EQ(mtRequestFree(&once), mtSuccess);
  EXPECT_EQ(mtRequestFree(&again), mtSuccess);
}

INSTANTIATE_TEST_SUITE_P(Paths, Groups, all_paths(), name_of_path);

}  // namespace
}  // namespace multitree::c_api_test
