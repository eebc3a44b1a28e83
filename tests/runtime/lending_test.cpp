// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks of one host agree whether they lend each other their memory.
#include "runtime/host/lending_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using host::Group;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::uint64_t kBytes = 64 * 1024;
constexpr Deadline kLong{20'000};

std::unique_ptr<Group> join(Bootstrap& bootstrap) {
  std::string why_not;
  auto group = Group::join(bootstrap, kLong, why_not);
  EXPECT_NE(group, nullptr) << why_not;
  return group;
}

/// What each of so many ranks says, with MULTITREE_PEER_MEMORY as given; null: not set.
std::vector<bool> answers(std::uint32_t ranks, const char* setting) {
  setting == nullptr ? ::unsetenv("MULTITREE_PEER_MEMORY")
                     : ::setenv("MULTITREE_PEER_MEMORY", setting, 1);
  std::vector<char> lends(ranks);
  run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto group = join(*bootstrap);
    if (group) lends[index(group->self())] = group->lends(kBytes) ? 1 : 0;
  });
  ::unsetenv("MULTITREE_PEER_MEMORY");
  return {lends.begin(), lends.end()};
}

TEST(Lending, RanksOnProcessorsOfTheirOwnHaveThemTogether) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    EXPECT_EQ(join(*bootstrap)->processors(), static_cast<std::uint32_t>(CPU_COUNT(&allowed)));
    cpu_set_t one;
    CPU_ZERO(&one);
    std::uint32_t seen = 0;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &allowed) &&
          seen++ == index(bootstrap->seat()) % static_cast<std::uint32_t>(CPU_COUNT(&allowed))) {
        CPU_SET(i, &one);
      }
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);  // of this thread
    EXPECT_EQ(join(*bootstrap)->processors(),
              static_cast<std::uint32_t>(std::min(3, CPU_COUNT(&allowed))));
  });
}

TEST(Lending, IsWhatTheVariableSays) {
  for (const std::uint32_t ranks : {2U, 5U, 9U}) {
    EXPECT_THAT(answers(ranks, "1"), Each(true)) << ranks;
    EXPECT_THAT(answers(ranks, "0"), Each(false)) << ranks;
  }
}

TEST(Lending, IsDecidedAlikeByAllRanks) {
  for (int time = 0; time < 5; ++time) {
    const auto said = answers(2, nullptr);
    EXPECT_THAT(said, Each(said.front()));
  }
  const auto processors = static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_THAT(answers(processors + 1, nullptr), Each(false)) << "no processor for each";
}

TEST(Lending, MayBeAskedForAgain) {
  ::setenv("MULTITREE_PEER_MEMORY", "1", 1);
  constexpr std::uint32_t kRanks = 3;
  std::vector<std::vector<bool>> said(kRanks);
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto group = join(*bootstrap);
    for (int time = 0; time < 60; ++time) {  // each more than once round the cards, in all
      said[index(group->self())].push_back(is_lending_faster(*group, *bootstrap, kLong));
    }
  });
  ::unsetenv("MULTITREE_PEER_MEMORY");
  EXPECT_THAT(said, Each(said.front()));
}

TEST(Lending, NamesARankThatDoesNotCome) {
  ::setenv("MULTITREE_PEER_MEMORY", "1", 1);
  run_ranks(3, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    const auto group = join(*bootstrap);
    if (bootstrap->seat() != Seat{1}) {
      try {
        (void)is_lending_faster(*group, *bootstrap, Deadline{100});
        ADD_FAILURE() << "expected an error";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Timeout);
        EXPECT_THAT(error.what(), HasSubstr("rank 1 did not come"));
      }
    }
    bootstrap->barrier(kLong);
  });
  ::unsetenv("MULTITREE_PEER_MEMORY");
}

}  // namespace
}  // namespace multitree::runtime::test
