// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Device memory reduced by processes over UCX: staged on the fake, mapped (CUDA IPC) on a GPU.
#include <gtest/gtest.h>

#include "runtime/device/device.hpp"
#include "runtime/launcher.hpp"

namespace multitree::runtime::test {
namespace {

int launch(std::uint32_t ranks, const char* device) {
  LaunchOptions options;
  options.program = MULTITREE_DEVICE_RANK_PROGRAM;
  options.grace = Deadline(10'000);
  return launch_local(ranks, {"device_rank_program", device}, options);
}

TEST(DeviceProcesses, FakeMemoryOverUcx) {
  for (const std::uint32_t ranks : {1U, 2U, 4U}) EXPECT_EQ(launch(ranks, "fake"), 0) << ranks;
}

TEST(Gpu, ProcessesShareOne) {
  std::string why;
  if (device::open_cuda(0, why) == nullptr) GTEST_SKIP() << "no GPU: " << why;
  for (const std::uint32_t ranks : {1U, 2U, 4U}) EXPECT_EQ(launch(ranks, "cuda"), 0) << ranks;
}

}  // namespace
}  // namespace multitree::runtime::test
