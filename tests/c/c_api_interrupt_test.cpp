// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Blocking calls that are called off by the thread that waits in them.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "c_api_support.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::HasSubstr;

/// Says "end" from the so many-th question on.
struct Questions {
  int patience;
  std::atomic<int> asked{0};
};
int ask(void* state) {
  auto* const questions = static_cast<Questions*>(state);
  return ++questions->asked >= questions->patience ? 1 : 0;
}

/// Without messages, and by them.
class Interrupt : public ::testing::TestWithParam<const char*> {
 protected:
  static void with_two(const std::function<void(int, mtComm_t)>& body) {
    const mtUniqueId id = new_id();
    mtConfig_t config = loopback();
    config.algorithm = GetParam();
    in_threads(2, [&](int rank) {
      mtComm_t comm = nullptr;
      ASSERT_EQ(mtCommInitRankConfig(&comm, 2, id, rank, &config), mtSuccess)
          << mtGetLastError(nullptr);
      body(rank, comm);
      mtCommDestroy(comm);
    });
  }
};

TEST_P(Interrupt, EndsTheCallAndTellsTheOthers) {
  std::atomic<bool> over{false};
  with_two([&](int rank, mtComm_t comm) {
    float value = 1;
    if (rank == 1) {
      while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      // What the other had put there may be enough for the first.
      mtResult_t result = mtSuccess;
      for (int i = 0; i < 2 && result == mtSuccess; ++i)
        result = mtAllReduce(&value, &value, 1, mtFloat32, mtSum, comm, nullptr);
      EXPECT_EQ(result, mtRemoteError);
      EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("interrupted"));
      return;
    }
    Questions questions{3};
    EXPECT_EQ(mtSetInterrupt(ask, &questions), mtSuccess);
    EXPECT_EQ(mtAllReduce(&value, &value, 1, mtFloat32, mtSum, comm, nullptr), mtAborted);
    EXPECT_EQ(mtSetInterrupt(nullptr, nullptr), mtSuccess);
    EXPECT_EQ(questions.asked, 3);
    EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("interrupted while"));
    EXPECT_EQ(mtBarrier(comm), mtAborted);
    over = true;
  });
}

TEST_P(Interrupt, GoesOnWhereItIsNotWanted) {
  std::atomic<int> asked{0};
  with_two([&](int rank, mtComm_t comm) {
    Questions questions{1 << 30};
    EXPECT_EQ(mtSetInterrupt(ask, &questions), mtSuccess);
    if (rank == 1) {  // until the other has been asked
      for (int i = 0; i < 5'000 && asked < 3; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::thread look([&] {
      for (int i = 0; rank == 0 && asked < 3 && i < 10'000; ++i) {
        asked = questions.asked.load();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    float value = 1;
    EXPECT_EQ(mtAllReduce(&value, &value, 1, mtFloat32, mtSum, comm, nullptr), mtSuccess);
    EXPECT_EQ(value, 2);
    look.join();
    EXPECT_EQ(mtSetInterrupt(nullptr, nullptr), mtSuccess);
  });
  EXPECT_GE(asked, 3);
}

INSTANTIATE_TEST_SUITE_P(Paths, Interrupt, ::testing::Values("auto", "ring"));

}  // namespace
}  // namespace multitree::c_api_test
