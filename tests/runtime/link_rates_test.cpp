// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links over which less is sent than usually are found, and nothing else is.
#include "runtime/messages/network/link_rates_internal.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/support.hpp"

namespace multitree::runtime::test {
namespace {

using std::chrono::milliseconds;
using Slow = std::vector<ImpairedLink>;

/// What is sent over a link: bytes in a busy microsecond, the share of time that it is busy, and
/// that of the busy time in which the other end has no room.
struct Load {
  double rate, busy = 1, held = 0;
};

/// Links to ranks 1, 2, .., whose rates vary by a twentieth.
class Traffic {
 public:
  void send(milliseconds time, const std::vector<Load>& loads) {
    for (const auto until = now + time; now < until;) {
      now += kLook;
      std::uint32_t peer = 0;
      for (const auto& [rate, busy, held] : loads) {
        Flow& flow = flows[Seat{++peer}];
        const std::chrono::duration<double, std::micro> took = busy * kLook;
        flow.bytes += static_cast<std::uint64_t>(rate * vary(random) * took.count());
        flow.busy += std::chrono::duration_cast<std::chrono::microseconds>(took);
        flow.held += std::chrono::duration_cast<std::chrono::microseconds>(held * took);
      }
      if (rates.is_due(now)) rates.look(flows, now);
    }
  }
  [[nodiscard]] Slow slow() const { return rates.slow(); }

  static constexpr milliseconds kLook{160};
  LinkRates rates;
  std::map<Seat, Flow> flows;
  LinkRates::Clock::time_point now = LinkRates::Clock::now();
  std::mt19937 random{1};
  std::uniform_real_distribution<double> vary{0.95, 1.05};
};

TEST(LinkRates, FindsTheLinkAtHalfItsRateAndWhenItIsBack) {
  Traffic traffic;
  traffic.send(milliseconds(3000), {{100, 0.9}, {50}, {100, 0.9}});
  EXPECT_EQ(traffic.slow(), Slow());  // the second is not as fast as the others, and never was
  traffic.send(milliseconds(3000), {{100, 0.4}, {25}, {100, 0.4}});
  const Slow slow = traffic.slow();
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].peer, 2_seat);
  EXPECT_NEAR(slow[0].percent, 50, 6);
  traffic.rates.relearn();
  traffic.send(milliseconds(3000), {{100, 0.9}, {27}, {100, 0.9}});
  EXPECT_EQ(traffic.slow(), slow);  // that is no news
  traffic.send(milliseconds(3000), {{100, 0.4}, {10}, {100, 0.4}});
  EXPECT_NEAR(traffic.slow().at(0).percent, 20, 3);
  traffic.send(milliseconds(8000), {{100, 0.9}, {50, 0.3}, {100, 0.9}});
  EXPECT_EQ(traffic.slow(), Slow());
}

TEST(LinkRates, BlamesNoLinkWhereAllAreSlowOrTheOtherEndIs) {
  Traffic traffic;
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  traffic.send(milliseconds(3000), {{50}, {45}, {60}});
  EXPECT_EQ(traffic.slow(), Slow());
  traffic.send(milliseconds(9000), {{100}, {100}, {100}});
  traffic.send(milliseconds(3000), {{100}, {40, 1, 0.5}, {100}});
  EXPECT_EQ(traffic.slow(), Slow());
}

TEST(LinkRates, AHiccupIsNoReason) {
  Traffic traffic;
  for (int i = 0; i < 10; ++i) {
    traffic.send(milliseconds(3000), {{100}, {100}, {100}});
    traffic.send(milliseconds(400), {{100}, {10}, {100}});
    EXPECT_EQ(traffic.slow(), Slow());
  }
}

/// As a bucket of tokens lets what comes rarely pass at once.
TEST(LinkRates, WhatIsRarelyBusyIsNotUsual) {
  Traffic traffic;
  traffic.send(milliseconds(3000), {{100}, {900, 0.1}, {100}});
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  EXPECT_EQ(traffic.slow(), Slow());
}

/// With other schedules some links have more to carry, and are as slow as they always were then.
TEST(LinkRates, LearnsAnewWithOtherSchedules) {
  Traffic traffic;
  traffic.send(milliseconds(3000), {{100}, {190, 0.9}, {100}});
  traffic.rates.relearn();
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  EXPECT_EQ(traffic.slow(), Slow());
}

TEST(LinkRates, ANewConnectionBeginsAtZero) {
  Traffic traffic;
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  traffic.flows[2_seat] = {};
  traffic.rates.begin_anew(2_seat);
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  EXPECT_EQ(traffic.slow(), Slow());
}

TEST(LinkRates, WhatIsNotUsedStaysAsToldForAWhile) {
  Traffic traffic;
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  traffic.send(milliseconds(3000), {{100, 0.5}, {50}, {100, 0.5}});
  ASSERT_EQ(traffic.slow().size(), 1U);
  traffic.send(milliseconds(30'000), {{100}, {1, 0}, {100}});
  EXPECT_EQ(traffic.slow().size(), 1U);
  traffic.send(milliseconds(40'000), {{100}, {1, 0}, {100}});
  EXPECT_EQ(traffic.slow(), Slow());
}

/// A link that is fast and slow in turns is not told of each time.
TEST(LinkRates, IsSlowerToSpeakOfWhatComesAgain) {
  Traffic traffic;
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  int changes = 0;
  Slow before;
  for (int i = 0; i < 100; ++i) {
    traffic.send(milliseconds(2500), {{100}, {i % 2 == 0 ? 40.0 : 100.0}, {100}});
    changes += traffic.slow() == before ? 0 : 1;
    before = traffic.slow();
  }
  EXPECT_GE(changes, 4);
  EXPECT_LE(changes, 12);
}

}  // namespace
}  // namespace multitree::runtime::test
