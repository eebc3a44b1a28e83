// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks of one process that leave their job one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// Several ranks of one job, made by one thread; destroying is left to the test.
class OneThread : public OnEveryPath {
 protected:
  static std::vector<mtComm_t> make(int ranks, const char* progress = nullptr) {
    mtConfig_t config = loopback();
    config.transport = GetParam().transport;
    config.algorithm = GetParam().algorithm;
    config.progress = progress;
    const mtUniqueId id = new_id();
    std::vector<mtComm_t> comms(ranks);
    EXPECT_EQ(mtGroupStart(), mtSuccess);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(mtCommInitRankConfig(&comms[r], ranks, id, r, &config), mtSuccess);
    }
    EXPECT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    return comms;
  }
  static std::vector<Numbers> reduced(const std::vector<mtComm_t>& comms) {
    std::vector<Numbers> data(comms.size(), Numbers(1000, 1));
    EXPECT_EQ(mtGroupStart(), mtSuccess);
    for (std::size_t r = 0; r < comms.size(); ++r) {
      EXPECT_EQ(mtAllReduce(data[r].data(), data[r].data(), data[r].size(), mtInt32, mtSum,
                            comms[r], nullptr),
                mtSuccess);
    }
    EXPECT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
    return data;
  }
  static void destroy(const std::vector<mtComm_t>& comms) {
    for (const mtComm_t comm : comms) {
      EXPECT_EQ(mtCommDestroy(comm), mtSuccess) << mtGetLastError(nullptr);
    }
  }
};

TEST_P(OneThread, DestroysOneAfterTheOther) {
  for (const int ranks : {1, 2, 5}) {
    const std::vector<mtComm_t> comms = make(ranks);
    EXPECT_THAT(reduced(comms), Each(Each(ranks)));
    destroy(comms);
    EXPECT_EQ(mtCommDestroy(comms.front()), mtInvalidArgument);
  }
}

TEST_P(OneThread, DestroysWithoutProgressThread) {
  std::vector<mtComm_t> comms = make(3, "off");
  EXPECT_THAT(reduced(comms), Each(Each(3)));
  std::ranges::reverse(comms);
  destroy(comms);
}

TEST_P(OneThread, NothingIsLost) {
  const std::vector<mtComm_t> comms = make(2);
  const Numbers sent{3, 1, 4};
  Numbers received(3, -1);
  mtRequest_t sending = nullptr, receiving = nullptr;
  ASSERT_EQ(mtISend(sent.data(), 3, mtInt32, 1, comms[0], nullptr, &sending), mtSuccess);
  ASSERT_EQ(mtIRecv(received.data(), 3, mtInt32, 0, comms[1], nullptr, &receiving), mtSuccess);
  EXPECT_EQ(mtCommDestroy(comms[0]), mtSuccess) << mtGetLastError(nullptr);
  EXPECT_EQ(mtRequestWait(receiving), mtSuccess) << mtGetLastError(nullptr);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(mtCommDestroy(comms[1]), mtSuccess) << mtGetLastError(nullptr);
  EXPECT_EQ(mtRequestWait(sending), mtSuccess);
  EXPECT_EQ(mtRequestFree(&sending), mtSuccess);
  EXPECT_EQ(mtRequestFree(&receiving), mtSuccess);
}

TEST_P(OneThread, AGroupMayDestroySome) {
  const std::vector<mtComm_t> comms = make(4);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  destroy({comms[1], comms[2]});
  ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  destroy({comms[3], comms[0]});
}

TEST_P(OneThread, PartsAndTheWholeInAnyOrder) {
  const std::vector<mtComm_t> whole = make(4);
  std::vector<mtComm_t> parts(4);
  ASSERT_EQ(mtGroupStart(), mtSuccess);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(mtCommSplit(whole[r], r % 2, r, &parts[r], nullptr), mtSuccess);
  }
  ASSERT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  EXPECT_THAT(reduced(parts), Each(Each(2)));
  destroy({whole[0], parts[0], parts[1], whole[1], whole[2], parts[3], parts[2], whole[3]});
}

TEST_P(OneThread, AThreadFinalizesAfterAnotherHasDestroyed) {
  const std::vector<mtComm_t> comms = make(3);
  destroy({comms[0]});
  in_threads(2, [&](int i) {
    EXPECT_EQ(mtCommFinalize(comms[1 + i]), mtSuccess) << mtGetLastError(nullptr);
    EXPECT_EQ(mtCommDestroy(comms[1 + i]), mtSuccess);
  });
}

TEST_P(OneThread, TheLastAborts) {
  const std::vector<mtComm_t> comms = make(3);
  destroy({comms[0], comms[1]});
  EXPECT_EQ(mtCommAbort(comms[2]), mtSuccess) << mtGetLastError(nullptr);
}

TEST_P(OneThread, OneAbortsAndTheLastSaysSo) {
  const std::vector<mtComm_t> comms = make(3);
  destroy({comms[0]});
  EXPECT_EQ(mtCommAbort(comms[1]), mtSuccess);
  EXPECT_EQ(mtCommDestroy(comms[2]), mtRemoteError);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("aborted by mtCommAbort()"));
}

/// What is over is so, though nobody has looked when the other rank is lost.
TEST_P(OneThread, WhatIsOverStaysSo) {
  // In shared memory one rank has all that the other has.
  if (std::string(GetParam().algorithm) != "auto") GTEST_SKIP() << "by messages";
  const std::vector<mtComm_t> comms = make(2);
  std::array<std::int64_t, 2> data{1, 2};
  std::array<mtRequest_t, 2> requests{};
  for (int r = 0; r < 2; ++r) {
    ASSERT_EQ(mtIAllReduce(&data[r], &data[r], 1, mtInt64, mtSum, comms[r], nullptr, &requests[r]),
              mtSuccess);
  }
  ASSERT_EQ(mtRequestWait(requests[1]), mtSuccess) << mtGetLastError(nullptr);
  ASSERT_EQ(mtCommAbort(comms[1]), mtSuccess);
  mtResult_t state = mtSuccess;
  while (state == mtSuccess) ASSERT_EQ(mtCommGetAsyncError(comms[0], &state), mtSuccess);
  EXPECT_EQ(state, mtRemoteError);
  int done = 0;
  EXPECT_EQ(mtRequestTest(requests[0], &done), mtSuccess) << mtGetLastError(nullptr);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(data[0], 3);
  for (mtRequest_t& request : requests) EXPECT_EQ(mtRequestFree(&request), mtSuccess);
  EXPECT_EQ(mtCommDestroy(comms[0]), mtSuccess);
}

INSTANTIATE_TEST_SUITE_P(Destroy, OneThread, all_paths(), name_of_path);

}  // namespace
}  // namespace multitree::c_api_test
