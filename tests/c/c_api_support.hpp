// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Communicators of the C API whose ranks are threads of this process.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "runtime/c/multitree.h"

namespace multitree::c_api_test {

inline mtConfig_t loopback() {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.transport = "loopback";
  config.deadlineMs = 10'000;
  config.initDeadlineMs = 10'000;
  return config;
}

inline mtUniqueId new_id() {
  mtUniqueId id;
  EXPECT_EQ(mtGetUniqueId(&id), mtSuccess) << mtGetLastError(nullptr);
  return id;
}

/// Runs `body(rank)` in a thread for each rank.
inline void in_threads(int ranks, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) threads.emplace_back(body, r);
  for (std::thread& thread : threads) thread.join();
}

/// A communicator of one rank.
struct Alone {
  Alone() { EXPECT_EQ(mtCommInitRank(&comm, 1, new_id(), 0), mtSuccess); }
  ~Alone() { EXPECT_EQ(mtCommDestroy(comm), mtSuccess); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  mtComm_t comm = nullptr;
};

/// `ranks` communicators, all made by this thread.
struct Together {
  explicit Together(int ranks, mtConfig_t config = loopback()) : comms(ranks) {
    const mtUniqueId id = new_id();
    EXPECT_EQ(mtGroupStart(), mtSuccess);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_EQ(mtCommInitRankConfig(&comms[r], ranks, id, r, &config), mtSuccess);
    }
    EXPECT_EQ(mtGroupEnd(), mtSuccess) << mtGetLastError(nullptr);
  }
  ~Together() {
    EXPECT_EQ(mtGroupStart(), mtSuccess);
    for (const mtComm_t comm : comms) EXPECT_EQ(mtCommDestroy(comm), mtSuccess);
    EXPECT_EQ(mtGroupEnd(), mtSuccess);
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;
  std::vector<mtComm_t> comms;
};

}  // namespace multitree::c_api_test
