// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who comes in whose place, and what those who come are told.
#include "tools/run/reserve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "tools/run/history.hpp"

namespace multitree::tools {
namespace {

using Numbers = std::vector<std::uint32_t>;

std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_of(const std::vector<Taken>& taken) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const auto& [spare, rank] : taken) pairs.emplace_back(spare, rank);
  return pairs;
}

TEST(Places, TheLowestSparesTakeTheLowestPlaces) {
  Places places(4, 6);
  EXPECT_EQ(places.members(), (Numbers{0, 1, 2, 3}));
  EXPECT_FALSE(places.has(4));
  EXPECT_THAT(pairs_of(places.go_on_with({0, 2, 3, 4, 5})),
              testing::ElementsAre(std::pair(0U, 1U)));
  EXPECT_EQ(places.members(), (Numbers{0, 4, 2, 3}));
  EXPECT_TRUE(places.has(4));
  // Who has come may be lost as well; and there is one spare for two places.
  EXPECT_THAT(pairs_of(places.go_on_with({2, 3, 5})), testing::ElementsAre(std::pair(1U, 0U)));
  EXPECT_EQ(places.ranks(), (Numbers{0, 2, 3}));
  EXPECT_EQ(places.members(), (Numbers{5, 2, 3}));
  EXPECT_TRUE(places.go_on_with({2, 3}).empty());
  EXPECT_EQ(places.ranks(), (Numbers{2, 3}));
}

TEST(Places, SparesThatAreLostTakeNone) {
  Places places(2, 4);
  EXPECT_TRUE(places.go_on_with({0, 1, 3}).empty());
  EXPECT_EQ(places.members(), (Numbers{0, 1}));
  EXPECT_THAT(pairs_of(places.go_on_with({1, 3})), testing::ElementsAre(std::pair(1U, 0U)));
}

/// As many places are taken as there are processes for, by processes that are left, each once.
TEST(Places, OfAnyLosses) {
  std::mt19937 random(1);
  for (int run = 0; run < 1000; ++run) {
    const auto below = [&](std::uint32_t most) {
      return std::uniform_int_distribution<std::uint32_t>(0, most - 1)(random);
    };
    const std::uint32_t ranks = 2 + below(5), spares = below(4);
    Places places(ranks, ranks + spares);
    Numbers left(ranks + spares);
    std::iota(left.begin(), left.end(), 0U);
    while (!left.empty()) {
      std::erase_if(left, [&](std::uint32_t) { return below(4) == 0; });
      const Numbers before = places.members();
      places.go_on_with(left);
      const Numbers members = places.members();
      ASSERT_LE(members.size(), before.size());
      ASSERT_EQ(members.size(), std::min(before.size(), left.size()));
      ASSERT_EQ(std::set(members.begin(), members.end()).size(), members.size());
      for (const std::uint32_t one : members) ASSERT_TRUE(std::ranges::binary_search(left, one));
      for (const std::uint32_t one : before) {  // who is left keeps its place
        ASSERT_EQ(places.has(one), std::ranges::binary_search(left, one));
      }
    }
  }
}

Row row_of(std::uint64_t bytes) {
  Row row{};
  row.key.bytes = bytes;
  return row;
}

TEST(History, TakesOverWhatOthersHaveDoneMore) {
  History old(3), come(3), behind(3);
  old.begun = 2;
  old.done[0] = {2, {row_of(8), row_of(16)}};
  old.done[1] = {1, {row_of(8)}};
  behind.begun = 1;
  behind.done[0] = {1, {row_of(8)}};
  for (History* const one : {&come, &behind}) {
    one->catch_up(behind.bytes());
    one->catch_up(old.bytes());
    one->catch_up(History(3).bytes());
    EXPECT_EQ(one->bytes(), old.bytes());
    EXPECT_EQ(one->begun, 2U);
    EXPECT_EQ(one->done[0].rows.at(1).key.bytes, 16U);
  }
  const std::string bytes = old.bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(History(3).catch_up(bytes.substr(0, size)), Error) << size;
  }
}

}  // namespace
}  // namespace multitree::tools
