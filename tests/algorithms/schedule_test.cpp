// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Canonical order, whatever the order that transfers were added in; and proofs by counting.
#include "algorithms/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "algorithms/verify_counting_internal.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// The same transfers in another order, the pool of routes in that order or not.
Schedule reordered(const Schedule& schedule, const std::vector<std::size_t>& order) {
  Schedule result = schedule;
  result.transfers.clear();
  for (const std::size_t i : order) result.transfers.push_back(schedule.transfers[i]);
  return result;
}

void expect_same_bytes(const Schedule& a, const Schedule& b) {
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.routes, b.routes);
  for (std::size_t i = 0; i < a.transfers.size(); ++i) {
    EXPECT_EQ(a.transfers[i].route_begin, b.transfers[i].route_begin);
  }
}

TEST(Canonicalize, GivesOneOrderToAllOrders) {
  std::mt19937_64 random(3);
  const Topology topology = make_topology("fattree:2x3");
  const Schedule schedule = make_schedule("multitree", topology);
  std::vector<std::size_t> order(schedule.transfers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    Schedule shuffled = reordered(schedule, order);
    shuffled.canonicalize();
    expect_same_bytes(shuffled, schedule);
    // By step, but shuffled within steps.
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return schedule.transfers[i].step; });
    Schedule by_step = reordered(schedule, order);
    by_step.canonicalize();
    expect_same_bytes(by_step, schedule);
  }
}

TEST(Canonicalize, DropsRoutesThatNoTransferUses) {
  const Topology topology = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", topology);
  Schedule longer = schedule;
  longer.routes.push_back(LinkId{0});
  longer.canonicalize();
  expect_same_bytes(longer, schedule);
  Schedule empty;
  empty.canonicalize();
  EXPECT_EQ(empty, Schedule{});
}

TEST(Canonicalize, OrdersEqualTransfersByTheirRoutes) {
  Schedule schedule;
  const LinkId high{7}, low{2};
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, {&high, 1});
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, {&low, 1});
  schedule.canonicalize();
  EXPECT_EQ(schedule.routes, (std::vector<LinkId>{low, high}));
}

class Counting : public testing::TestWithParam<const char*> {};

TEST_P(Counting, ProvesTreesOnEveryNetwork) {
  for (const char* spec : {"ring:1", "ring:2", "torus:3x3", "mesh:2x3", "fattree:2x3", "star:4"}) {
    const Topology topology = make_topology(spec);
    for (const Collective collective : all_collectives()) {
      const Schedule schedule = make_schedule(GetParam(), topology, collective);
      EXPECT_TRUE(proven_by_counting(schedule)) << spec << " " << to_string(collective);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, Counting,
                         testing::Values("multitree", "ring", "double-binary-tree"));

/// 0 and 1 swap what they have, then the sums: right, but no tree.
TEST(CountingProof, LeavesOtherSchedulesToTheReplay) {
  const Topology topology = make_topology("hypercube:2");
  const Schedule schedule = make_schedule("recursive-doubling", topology);
  EXPECT_FALSE(proven_by_counting(schedule));
  EXPECT_TRUE(verify(schedule, topology).ok());
}

/// A broadcast over a line of three: what counting must refuse.
class BrokenCounting : public testing::Test {
 protected:
  void add(std::uint32_t step, Op op, std::uint32_t src, std::uint32_t dst) {
    schedule.add(step, op, 0, Rank{src}, Rank{dst}, {});
  }
  Schedule schedule{.collective = Collective::AllReduce,
                    .algorithm = "",
                    .root = Rank{0},
                    .ranks = 3,
                    .chunks = {Chunk::rooted(Rank{0}, 0, 1)},
                    .transfers = {},
                    .routes = {}};
};

TEST_F(BrokenCounting, AcceptsTheReductionAndItsMirrorImage) {
  add(0, Op::Reduce, 2, 1);
  add(1, Op::Reduce, 1, 0);
  add(2, Op::Copy, 0, 1);
  add(3, Op::Copy, 1, 2);
  EXPECT_TRUE(proven_by_counting(schedule));
}

TEST_F(BrokenCounting, RefusesASumSentBeforeItIsComplete) {
  add(0, Op::Reduce, 2, 1);
  add(0, Op::Reduce, 1, 0);
  add(1, Op::Copy, 0, 1);
  add(2, Op::Copy, 1, 2);
  EXPECT_FALSE(proven_by_counting(schedule));
}

TEST_F(BrokenCounting, RefusesASumSentTwice) {
  add(0, Op::Reduce, 2, 1);
  add(1, Op::Reduce, 2, 0);
  add(2, Op::Reduce, 1, 0);
  add(3, Op::Copy, 0, 1);
  add(3, Op::Copy, 0, 2);
  EXPECT_FALSE(proven_by_counting(schedule));
}

TEST_F(BrokenCounting, RefusesACopyOfAPartialSum) {
  add(0, Op::Reduce, 2, 1);
  add(1, Op::Copy, 1, 2);
  add(1, Op::Reduce, 1, 0);
  add(2, Op::Copy, 0, 1);
  EXPECT_FALSE(proven_by_counting(schedule));
}

TEST_F(BrokenCounting, RefusesACopyThatMeetsAReduction) {
  add(0, Op::Reduce, 1, 0);
  add(1, Op::Reduce, 2, 0);
  add(2, Op::Copy, 0, 1);
  add(2, Op::Copy, 0, 1);
  add(3, Op::Copy, 1, 2);
  EXPECT_FALSE(proven_by_counting(schedule));
}

TEST_F(BrokenCounting, RefusesARankThatEndsWithoutTheSum) {
  add(0, Op::Reduce, 1, 0);
  add(1, Op::Reduce, 2, 0);
  add(2, Op::Copy, 0, 1);
  EXPECT_FALSE(proven_by_counting(schedule));
}

}  // namespace
}  // namespace multitree
