// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules by size for a network, and for what is left of it.
#include "algorithms/tuning/planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"

namespace multitree {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

RemainingNetwork without_rank(const RemainingNetwork& network, std::uint32_t lost) {
  std::vector<std::uint32_t> left;
  const std::uint32_t ranks = network.network().num_ranks();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (rank != lost) left.push_back(rank);
  }
  return network.after(Survivors(ranks).after(left, {}));
}

void expect_verified(const SizedSchedules& schedules, const Topology& topology) {
  ASSERT_FALSE(schedules.empty());
  check_sized(schedules);
  for (const SizedSchedule& sized : schedules) {
    EXPECT_TRUE(verify(sized.schedule, topology).ok());
  }
}

TEST(Planner, MakesWhatIsNotReady) {
  const RemainingNetwork network(load_topology("torus:3x3"));
  SizedSchedules ready =
      for_all_sizes(make_schedule("ring", network.whole(), Collective::Broadcast, Rank{4}));
  const Planner planner(network, ready, by_algorithm("multitree"));
  EXPECT_EQ(planner.schedules(Collective::Broadcast, Rank{4}), ready);
  EXPECT_EQ(planner.schedules(Collective::Broadcast, Rank{5}).front().schedule.algorithm,
            "multitree");
  EXPECT_EQ(planner.schedules(Collective::AllReduce, Rank{0}).front().schedule.algorithm,
            "multitree");
}

TEST(Planner, RepairsWhatIsReadyForThoseWhoAreLeft) {
  const RemainingNetwork whole(load_topology("torus:3x3"));
  SizedSchedules ready =
      for_all_sizes(make_schedule("multitree", whole.whole(), Collective::Reduce, Rank{4}));
  const RemainingNetwork left = without_rank(without_rank(whole, 2), 0);
  const Planner planner(left, ready, {});
  // Rank 4 of the beginning is rank 2 by now.
  const SizedSchedules fitting = planner.schedules(Collective::Reduce, Rank{2});
  expect_verified(fitting, left.network());
  EXPECT_EQ(fitting.front().schedule.root, Rank{2});
}

TEST(Planner, RepairsWhereTheAlgorithmDoesNotServeWhatIsLeft) {
  const RemainingNetwork left = without_rank(RemainingNetwork(load_topology("torus:4x4")), 5);
  const Planner planner(left, {}, by_algorithm("symmetric"));
  EXPECT_THROW(make_schedule("symmetric", left.network()), Error);
  expect_verified(planner.schedules(Collective::AllReduce, Rank{0}), left.network());
}

TEST(Planner, GivesOneListForEachCollective) {
  const RemainingNetwork network(load_topology("ring:4"));
  const Planner planner(network, {}, by_algorithm("auto"));
  const std::vector<Collective> wanted = {Collective::AllReduce, Collective::Reduce};
  const std::vector<SizedSchedules> plans = planner.schedules(wanted, Rank{3});
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(plans[0].front().schedule.root, Rank{0});
  EXPECT_EQ(plans[1].front().schedule.root, Rank{3});
  for (const SizedSchedules& plan : plans) expect_verified(plan, network.network());
}

TEST(Planner, RefusesWhatDoesNotVerify) {
  const Topology topology = load_topology("ring:4");
  SizedSchedules broken = for_all_sizes(make_schedule("ring", topology));
  broken.front().schedule.transfers.pop_back();
  EXPECT_THAT([&] { check_verified(broken, topology); },
              ThrowsMessage<Error>(HasSubstr("schedule ring does not verify")));
}

}  // namespace
}  // namespace multitree
