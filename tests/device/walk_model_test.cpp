// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small collectives in every order of turns, and of what is seen; faults of the machine are found.
#include <gtest/gtest.h>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"
#include "walk_model.hpp"

namespace multitree::runtime::test {
namespace {

class WalkModel : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers do not know fibers";
#endif
  }
};

TEST_F(WalkModel, PlacesAreUsedAgainInEveryOrder) {
  // More segments than places, twice over.
  const Schedule schedule = ring_schedule(Collective::Broadcast, 2);
  Model model(schedule, 11, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 500U);
}

TEST_F(WalkModel, ExchangesInEveryOrder) {
  const Schedule schedule = make_schedule("recursive-doubling", make_topology("full:2"));
  Model model(schedule, 3, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 100U);
}

TEST_F(WalkModel, ARingOfThreeInEveryOrder) {
  const Schedule schedule = ring_schedule(Collective::AllReduce, 3);
  Model model(schedule, 6, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 264U);  // of one segment and call
}

/// Partial sums lie in Work, which is used again.
TEST_F(WalkModel, AReduceScatterInEveryOrder) {
  const Schedule schedule = ring_schedule(Collective::ReduceScatter, 3);
  Model model(schedule, 6, 4, 2);
  EXPECT_EQ(model.explore(), "");
  EXPECT_GT(model.states(), 264U);
}

/// The model would see a sender that does not wait for its places.
TEST_F(WalkModel, FindsPlacesThatAreTakenTooEarly) {
  const Schedule schedule = ring_schedule(Collective::Broadcast, 2);
  Model model(schedule, 11, 4, 1, Ordering::Sequential, Fault::IgnoresPlaces);
  EXPECT_NE(model.explore(), "");
}

/// Two and three ranks whose writes others see late and in any order that releases allow.
TEST_F(WalkModel, WhatIsSeenLateInEveryOrder) {
  const Schedule broadcast = ring_schedule(Collective::Broadcast, 2);
  Model again(broadcast, 6, 4, 1, Ordering::Weak);  // places are used again
  EXPECT_EQ(again.explore(), "");
  EXPECT_GT(again.states(), 1000U);
  const Schedule exchange = make_schedule("recursive-doubling", make_topology("full:2"));
  Model two(exchange, 2, 4, 1, Ordering::Weak);
  EXPECT_EQ(two.explore(), "");
  const Schedule ring = ring_schedule(Collective::ReduceScatter, 3);
  Model three(ring, 3, 4, 1, Ordering::Weak);
  EXPECT_EQ(three.explore(), "");
  EXPECT_GT(three.states(), 200U);
}

TEST_F(WalkModel, FindsWhatOrdersTooLittle) {
  const Schedule broadcast = ring_schedule(Collective::Broadcast, 2);
  for (const Fault fault :
       {Fault::IgnoresPlaces, Fault::NoRelease, Fault::NoAcquire, Fault::ReadsLate}) {
    Model model(broadcast, 6, 4, 1, Ordering::Weak, fault);
    EXPECT_NE(model.explore(), "") << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace multitree::runtime::test
