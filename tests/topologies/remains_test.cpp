// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is left of a network, and which part of it goes on.
#include "topologies/remains.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/error.hpp"
#include "topologies/io/io.hpp"

namespace multitree {
namespace {

using Ranks = std::vector<std::uint32_t>;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Remains, LosesRanksAndLinks) {
  const Topology torus = load_topology("torus:3x2");
  const Topology left = remaining_network(torus, {0, 1, 2, 4, 5}, {{1, 4}});
  EXPECT_EQ(left.num_ranks(), 5U);
  EXPECT_EQ(left.num_nodes(), 5U);
  // A ring would be cut: the dead host is believed to forward.
  const Topology line = remaining_network(load_topology("ring:4?without=0-1"), {0, 1, 3}, {});
  EXPECT_EQ(line.num_ranks(), 3U);
  EXPECT_EQ(line.num_nodes(), 4U);
}

TEST(Remains, TheLargestPartGoesOn) {
  const Topology ring = load_topology("ring:5");
  EXPECT_EQ(part_that_goes_on(ring, {0, 1, 2, 3, 4}, {{0, 1}}), (Ranks{0, 1, 2, 3, 4}));
  EXPECT_EQ(part_that_goes_on(ring, {0, 1, 2, 3, 4}, {{0, 1}, {3, 4}}), (Ranks{1, 2, 3}));
  // Of the larger part two ranks are lost.
  EXPECT_EQ(part_that_goes_on(ring, {0, 2, 4}, {{0, 1}, {3, 4}}), (Ranks{0, 4}));
}

TEST(Remains, OfHalvesTheOneWithTheLowestRankGoesOn) {
  const Topology ring = load_topology("ring:4");
  EXPECT_EQ(part_that_goes_on(ring, {0, 1, 2, 3}, {{1, 2}, {0, 3}}), (Ranks{0, 1}));
  EXPECT_EQ(part_that_goes_on(ring, {0, 1, 2, 3}, {{0, 1}, {2, 3}}), (Ranks{0, 3}));
}

TEST(Remains, SaysWhereALinkCannotBeTold) {
  const Topology tree = load_topology("fattree:2x2");
  const auto all = [&] {
    Ranks ranks(tree.num_ranks());
    for (std::uint32_t r = 0; r < ranks.size(); ++r) ranks[r] = r;
    return ranks;
  }();
  const auto expected = ThrowsMessage<Error>(
      HasSubstr("between ranks 0 and 2, which have no link of their own: cannot tell which link"));
  EXPECT_THAT([&] { remaining_network(tree, all, {{0, 2}}); }, expected);
  EXPECT_THAT([&] { part_that_goes_on(tree, all, {{0, 2}}); }, expected);
}

}  // namespace
}  // namespace multitree
