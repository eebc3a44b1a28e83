// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Buffers that are registered.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "c_api_paths.hpp"

namespace multitree::c_api_test {
namespace {

using ::testing::HasSubstr;

class Registering : public OnEveryPath {};

TEST_P(Registering, ChangesNoResult) {
  run(3, [&](int rank, mtComm_t comm) {
    // Huge pages within, and odd ends.
    constexpr std::size_t kCount = 1'500'001;
    Numbers data(kCount);
    std::iota(data.begin(), data.end(), rank);
    void *whole = nullptr, *again = nullptr, *part = nullptr;
    ASSERT_EQ(mtCommRegister(comm, data.data(), kCount * sizeof(int), &whole), mtSuccess)
        << mtGetLastError(nullptr);
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(data[i], static_cast<int>(i) + rank);
    ASSERT_EQ(mtCommRegister(comm, data.data(), kCount * sizeof(int), &again), mtSuccess);
    ASSERT_EQ(mtCommRegister(comm, &data[5], 1, &part), mtSuccess);
    ASSERT_EQ(mtAllReduce(data.data(), data.data(), kCount, mtInt32, mtSum, comm, nullptr),
              mtSuccess);
    for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(data[i], 3 * static_cast<int>(i) + 3);
    EXPECT_EQ(mtCommDeregister(comm, whole), mtSuccess);
    EXPECT_EQ(mtCommDeregister(comm, whole), mtInvalidArgument);
    EXPECT_EQ(mtCommDeregister(comm, part), mtSuccess);
    ASSERT_EQ(mtBarrier(comm), mtSuccess);  // `again` is left to the communicator
  });
}

INSTANTIATE_TEST_SUITE_P(Register, Registering, all_paths(), name_of_path);

class RegisteringWrong : public ::testing::Test {
 protected:
  std::string words(void* buffer, std::size_t size) {
    void* handle = this;
    EXPECT_EQ(mtCommRegister(alone_.comm, buffer, size, &handle), mtInvalidArgument);
    EXPECT_EQ(handle, nullptr);
    return mtGetLastError(nullptr);
  }
  const Alone alone_;
};

TEST_F(RegisteringWrong, ArgumentsAreNamed) {
  int value = 0;
  EXPECT_EQ(words(nullptr, 4), "buffer is NULL");
  EXPECT_EQ(words(&value, 0), "size: expected 1 byte or more, found 0");
  EXPECT_THAT(words(&value, std::numeric_limits<std::size_t>::max()),
              HasSubstr("do not fit the address space"));
  EXPECT_EQ(mtCommRegister(alone_.comm, &value, 4, nullptr), mtInvalidArgument);
  EXPECT_EQ(mtCommDeregister(alone_.comm, nullptr), mtInvalidArgument);
  EXPECT_STREQ(mtGetLastError(nullptr), "handle is NULL");
  EXPECT_EQ(mtCommDeregister(alone_.comm, &value), mtInvalidArgument);
  EXPECT_THAT(mtGetLastError(nullptr), HasSubstr("handle: expected one of mtCommRegister()"));
}

TEST_F(RegisteringWrong, AHoleIsFound) {
  constexpr std::size_t kPages = 1000, kPage = 4096;
  auto* const memory = static_cast<std::byte*>(
      ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  void* handle = nullptr;
  EXPECT_EQ(mtCommRegister(alone_.comm, memory + 7, kPages * kPage - 7, &handle), mtSuccess);
  EXPECT_EQ(mtCommDeregister(alone_.comm, handle), mtSuccess);
  for (const std::size_t hole : {0, 1, 617, 999}) {
    ASSERT_EQ(::munmap(memory + hole * kPage, kPage), 0);
    const std::size_t from = hole == 0 ? 7 : 0;
    EXPECT_THAT(
        words(memory + from, kPages * kPage - from),
        HasSubstr(fmt::format("found no memory at {}", fmt::ptr(memory + hole * kPage + from))));
    ASSERT_EQ(::mmap(memory + hole * kPage, kPage, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              memory + hole * kPage);
  }
  EXPECT_EQ(::munmap(memory, kPages * kPage), 0);
}

TEST_F(RegisteringWrong, HandlesAreOfTheirCommunicator) {
  int value = 0;
  void *handle = nullptr, *refused = nullptr;
  ASSERT_EQ(mtCommRegister(alone_.comm, &value, sizeof value, &handle), mtSuccess);
  {
    const Alone other;
    EXPECT_EQ(mtCommDeregister(other.comm, handle), mtInvalidArgument);
    EXPECT_EQ(mtCommFinalize(other.comm), mtSuccess);
    EXPECT_EQ(mtCommRegister(other.comm, &value, sizeof value, &refused), mtInvalidUsage);
  }
  mtComm_t aborted = nullptr;
  ASSERT_EQ(mtCommInitRank(&aborted, 1, new_id(), 0), mtSuccess);
  ASSERT_EQ(mtCommAbort(aborted), mtSuccess);
  EXPECT_EQ(mtCommRegister(aborted, &value, sizeof value, &refused), mtAborted);
  EXPECT_EQ(mtCommDeregister(alone_.comm, handle), mtSuccess);
}

}  // namespace
}  // namespace multitree::c_api_test
