// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is left of a network, and which part of it goes on.
#include "topologies/remaining_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/error.hpp"
#include "topologies/io/io.hpp"

namespace multitree {
namespace {

using Ranks = std::vector<std::uint32_t>;
using Links = std::vector<DeadLink>;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Of `all` ranks those that are left, all in the numbers of the beginning.
Survivors survivors(std::uint32_t all, const Ranks& left, const Links& dead) {
  const Survivors fewer = Survivors(all).after(left, {});
  Links renumbered;
  for (const auto& [a, b] : dead) {
    if (!fewer.has(a) || !fewer.has(b)) continue;
    renumbered.push_back({*fewer.today(a), *fewer.today(b)});
  }
  return Survivors(all).after(left, renumbered);
}

Topology remaining(const Topology& whole, const Ranks& left, const Links& dead) {
  return RemainingNetwork(whole).after(survivors(whole.num_ranks(), left, dead)).network();
}

Ranks part(const Topology& whole, const Ranks& left, const Links& dead) {
  return part_that_goes_on(whole, survivors(whole.num_ranks(), left, dead));
}

TEST(Survivors, KeepTheNumbersOfTheBeginning) {
  const Survivors first = Survivors(6).after(Ranks{0, 2, 3, 5}, Links{{1, 2}});
  EXPECT_EQ(first.ranks(), (Ranks{0, 2, 3, 5}));
  EXPECT_EQ(first.lost(), (Ranks{1, 4}));
  EXPECT_EQ(first.dead_links(), (Links{{2, 3}}));
  const Survivors second = first.after(Ranks{1, 2, 3}, Links{{0, 1}, {2, 1}});
  EXPECT_EQ(second.ranks(), (Ranks{2, 3, 5}));
  EXPECT_EQ(second.dead_links(), (Links{{2, 3}, {3, 5}}));
  EXPECT_EQ(second.without_links(first.dead_links()).dead_links(), (Links{{3, 5}}));
  EXPECT_EQ(second.today(3), 1U);
  EXPECT_EQ(second.today(0), std::nullopt);
  EXPECT_EQ(second.all_but({2, 5}), (Ranks{1}));
  EXPECT_FALSE(second.is_all());
  EXPECT_TRUE(Survivors(3).is_all());
}

TEST(RemainingNetwork, KnowsWhoARankWas) {
  const RemainingNetwork whole(load_topology("torus:3x2"));
  EXPECT_TRUE(whole.is_whole());
  const RemainingNetwork once = whole.after(survivors(6, {0, 2, 3, 4, 5}, {}));
  const RemainingNetwork twice = once.after(survivors(5, {0, 1, 3, 4}, {}));
  EXPECT_FALSE(twice.is_whole());
  EXPECT_EQ(twice.whole().num_ranks(), 6U);
  EXPECT_EQ(twice.network().num_ranks(), 4U);
  EXPECT_EQ(twice.at_first(Rank{2}), Rank{4});
}

TEST(RemainingNetwork, LosesRanksAndLinks) {
  const Topology torus = load_topology("torus:3x2");
  const Topology left = remaining(torus, {0, 1, 2, 4, 5}, {{1, 4}});
  EXPECT_EQ(left.num_ranks(), 5U);
  EXPECT_EQ(left.num_nodes(), 5U);
  // A ring would be cut: the dead host is believed to forward.
  const Topology line = remaining(load_topology("ring:4?without=0-1"), {0, 1, 3}, {});
  EXPECT_EQ(line.num_ranks(), 3U);
  EXPECT_EQ(line.num_nodes(), 4U);
}

TEST(RemainingNetwork, HasLessOfSlowLinks) {
  const RemainingNetwork whole(load_topology("torus:3x2?bw=1GB/s"));
  const RemainingNetwork cut = whole.after(survivors(6, {0, 1, 2, 3, 4, 5}, {{1, 4}}));
  const RemainingNetwork slow = cut.slowed(std::vector{SlowLink{{0, 3}, 5}, SlowLink{{2, 5}, 100}});
  EXPECT_EQ(slow.network().num_links(), cut.network().num_links());
  for (const Link& link : slow.network().links()) {
    const auto [a, b] = std::minmax({index(link.src), index(link.dst)});
    EXPECT_EQ(link.bandwidth.bytes_per_second, a == 0 && b == 3 ? 50'000'000U : 1'000'000'000U);
  }
  EXPECT_TRUE(whole.slowed({}).is_whole());
  EXPECT_THROW(static_cast<void>(cut.slowed(std::vector{SlowLink{{1, 4}, 50}})), Error);
  EXPECT_THROW(static_cast<void>(cut.slowed(std::vector{SlowLink{{0, 1}, 0}})), Error);
  EXPECT_THROW(static_cast<void>(cut.slowed(std::vector{SlowLink{{0, 1}, 101}})), Error);
}

TEST(RemainingNetwork, TheLargestPartGoesOn) {
  const Topology ring = load_topology("ring:5");
  EXPECT_EQ(part(ring, {0, 1, 2, 3, 4}, {{0, 1}}), (Ranks{0, 1, 2, 3, 4}));
  EXPECT_EQ(part(ring, {0, 1, 2, 3, 4}, {{0, 1}, {3, 4}}), (Ranks{1, 2, 3}));
  // 4 and 0 reach each other by 5, which is lost.
  EXPECT_EQ(part(load_topology("ring:6"), {0, 1, 3, 4}, {{0, 1}, {3, 4}}), (Ranks{0, 4}));
}

TEST(RemainingNetwork, OfHalvesTheOneWithTheLowestRankGoesOn) {
  const Topology ring = load_topology("ring:4");
  EXPECT_EQ(part(ring, {0, 1, 2, 3}, {{1, 2}, {0, 3}}), (Ranks{0, 1}));
  EXPECT_EQ(part(ring, {0, 1, 2, 3}, {{0, 1}, {2, 3}}), (Ranks{0, 3}));
}

TEST(RemainingNetwork, SaysWhereALinkCannotBeTold) {
  const Topology tree = load_topology("fattree:2x2");
  const auto all = [&] {
    Ranks ranks(tree.num_ranks());
    for (std::uint32_t r = 0; r < ranks.size(); ++r) ranks[r] = r;
    return ranks;
  }();
  const auto expected = ThrowsMessage<Error>(
      HasSubstr("between ranks 0 and 2, which have no link of their own: cannot tell which link"));
  EXPECT_THAT([&] { remaining(tree, all, {{0, 2}}); }, expected);
  EXPECT_THAT([&] { part(tree, all, {{0, 2}}); }, expected);
}

}  // namespace
}  // namespace multitree
