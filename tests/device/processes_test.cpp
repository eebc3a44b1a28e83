// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Device memory reduced by processes over UCX, staged.
#include <gtest/gtest.h>

#include "runtime/job/launcher.hpp"

namespace multitree::runtime::test {
namespace {

TEST(DeviceProcesses, FakeMemoryOverUcx) {
  LaunchOptions options;
  options.program = MULTITREE_DEVICE_RANK_PROGRAM;
  options.grace = Deadline(10'000);
  for (const std::uint32_t ranks : {1U, 2U, 4U}) {
    EXPECT_EQ(launch_local(ranks, {"device_rank_program", "fake"}, options), 0) << ranks;
  }
}

}  // namespace
}  // namespace multitree::runtime::test
