// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Meeting by an id, and ids that nobody meets by.
#include "runtime/job/unique_id.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <iterator>

#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

std::ptrdiff_t descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return std::distance(Iterator("/proc/self/fd"), Iterator());
}

/// Two threads of this process, which is both the one that made the id and another.
void meet(const UniqueId& id) {
  const BootstrapOptions options{Deadline(20'000), {}};
  auto other = std::async(std::launch::async, [&] { return join_by_id(id, Seat{1}, 2, options); });
  const auto one = join_by_id(id, Seat{0}, 2, options);
  EXPECT_EQ(other.get()->seat(), Seat{1});
  EXPECT_EQ(one->size(), 2U);
}

TEST(UniqueIds, ThatNobodyUsesDoNotAddUp) {
  const std::ptrdiff_t before = descriptors();
  for (int i = 0; i < 64; ++i) make_unique_id();
  const std::ptrdiff_t full = descriptors();
  EXPECT_LE(full, before + 64);
  for (int i = 0; i < 200; ++i) make_unique_id();
  EXPECT_EQ(descriptors(), full);
  const UniqueId oldest = make_unique_id();
  for (int i = 0; i < 63; ++i) make_unique_id();
  meet(oldest);  // one of the latest still
  EXPECT_EQ(descriptors(), full - 1);
}

TEST(UniqueIds, OfThemselvesAreJobsOfTheirOwn) {
  const UniqueId first = make_unique_id(), second = make_unique_id();
  EXPECT_NE(first, second);
  meet(second);
  meet(first);
}

}  // namespace
}  // namespace multitree::runtime::test
