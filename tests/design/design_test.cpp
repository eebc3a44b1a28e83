// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What no network of a degree beats, what no network is, and designs between the two.
#include "algorithms/design/design.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(DegreeBound, IsMooresAndMetByItsGraphs) {
  // Complete graphs, rings, the Petersen graph: Moore graphs have exactly these distances.
  EXPECT_EQ(degree_bound(8, 7).distances, 7);
  EXPECT_EQ(degree_bound(7, 2).hops, 3);
  EXPECT_EQ(degree_bound(7, 2).distances, 12);
  EXPECT_EQ(degree_bound(10, 3).hops, 2);
  EXPECT_EQ(degree_bound(10, 3).distances, 15);
  EXPECT_EQ(degree_bound(64, 4).hops, 4);
  EXPECT_EQ(degree_bound(64, 4).distances, 180);
  EXPECT_EQ(degree_bound(64, 4).all_reduce(), Exact(63, 2));
  EXPECT_EQ(degree_bound(64, 4).all_to_all(), Exact(180, 256));
}

struct NoNetwork {
  std::uint32_t ranks, ports;
  const char* message;
};

class Impossible : public testing::TestWithParam<NoNetwork> {};

TEST_P(Impossible, SaysWhatWouldDo) {
  try {
    design_networks({.ranks = GetParam().ranks, .ports = GetParam().ports});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(std::string(error.what()), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Impossible,
    testing::Values(
        NoNetwork{1, 1, "no network has 1 ranks with 1 cables each: expected at least 2 ranks"},
        NoNetwork{4, 0, "no network has 4 ranks with 0 cables each: expected at least 1 cable"},
        NoNetwork{4, 4,
                  "no network has 4 ranks with 4 cables each: expected at most 3 cables, one "
                  "to each other rank"},
        NoNetwork{9, 3,
                  "no network has 9 ranks with 3 cables each: expected an even number of "
                  "ends, got 27; 10 ranks or 4 cables would do"},
        NoNetwork{6, 1,
                  "no network has 6 ranks with 1 cables each: expected at least 2 cables, to "
                  "reach all"},
        NoNetwork{2000, 4, "expected at most 1024 ranks, got 2000"}));

/// By a search of its own from each rank.
Spread measured(const Cables& cables, std::uint32_t ranks) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> neighbours;
  for (const auto& [a, b] : cables) {
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  Spread spread;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    std::map<std::uint32_t, std::uint32_t> hops{{from, 0}};
    std::vector<std::uint32_t> queue{from};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::uint32_t next : neighbours[queue[i]]) {
        if (!hops.try_emplace(next, hops[queue[i]] + 1).second) continue;
        queue.push_back(next);
        spread.hops = std::max(spread.hops, hops[next]);
        spread.distances += hops[next];
      }
    }
    EXPECT_EQ(hops.size(), ranks);
  }
  return spread;
}

TEST(Search, KeepsDegreesAndMeasuresDistances) {
  for (const auto& [ranks, ports] : {std::pair{10U, 3U}, {16U, 4U}, {33U, 4U}, {70U, 5U}}) {
    const Cables cables = search_regular(ranks, ports, 7);
    std::map<std::uint32_t, std::uint32_t> ends;
    for (const auto& [a, b] : cables) {
      EXPECT_LT(a, b);
      ++ends[a];
      ++ends[b];
    }
    EXPECT_EQ(ends.size(), ranks);
    for (const auto& [rank, count] : ends) EXPECT_EQ(count, ports) << rank;
    Cables sorted = cables;
    std::ranges::sort(sorted);
    EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << "a cable twice";
    EXPECT_EQ(spread_of(cables, ranks), measured(cables, ranks));
    EXPECT_EQ(search_regular(ranks, ports, 7), cables);
  }
}

TEST(Search, FindsThePetersenGraph) {
  EXPECT_EQ(spread_of(search_regular(10, 3, 1), 10), (Spread{2, 150}));
}

TEST(Design, IsNearWhatNoNetworkBeats) {
  for (const Collective collective : {Collective::AllReduce, Collective::AllToAll}) {
    for (const auto& [ranks, ports] : {std::pair{8U, 7U}, {16U, 4U}, {17U, 4U}, {12U, 3U}}) {
      const Designs designs = design_networks({.ranks = ranks,
                                               .ports = ports,
                                               .bandwidth = Bandwidth{16'000'000'000},
                                               .latency = Time{150'000},
                                               .collective = collective,
                                               .bytes = std::uint64_t{ranks} << 20});
      ASSERT_FALSE(designs.designs.empty());
      const Design& best = designs.designs.front();
      EXPECT_GE(best.seconds, designs.degree_seconds * 0.999999) << ranks << " " << ports;
      const double most = collective == Collective::AllReduce ? 1.02 : 1.25;
      EXPECT_LE(best.seconds, designs.degree_seconds * most) << ranks << " " << ports;
      for (const Design& design : designs.designs) {
        EXPECT_EQ(design.topology.num_ranks(), ranks) << design.topology.name();
        EXPECT_EQ(design.topology.num_links(), ranks * ports) << design.topology.name();
      }
    }
  }
}

TEST(Design, IsOfAllReducesAndAllToAlls) {
  EXPECT_THROW(design_networks({.ranks = 8, .ports = 3, .collective = Collective::Broadcast}),
               Error);
}

}  // namespace
}  // namespace multitree
