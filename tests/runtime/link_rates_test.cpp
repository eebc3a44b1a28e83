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

/// Links to ranks 1, 2, .., whose rates vary by a twentieth, or by more.
class Traffic {
 public:
  explicit Traffic(milliseconds every = milliseconds(160), double varies = 0.05)
      : look(every), vary(1 - varies, 1 + varies) {}
  void send(milliseconds time, const std::vector<Load>& loads) {
    for (const auto until = now + time; now < until;) {
      now += look;
      std::uint32_t peer = 0;
      for (const auto& [rate, busy, held] : loads) {
        Flow& flow = flows[Seat{++peer}];
        const std::chrono::duration<double, std::micro> took = busy * look;
        flow.bytes += static_cast<std::uint64_t>(rate * vary(random) * took.count());
        flow.busy += std::chrono::duration_cast<std::chrono::microseconds>(took);
        flow.held += std::chrono::duration_cast<std::chrono::microseconds>(held * took);
      }
      if (rates.is_due(now)) rates.look(flows, now);
    }
  }
  [[nodiscard]] Slow slow() const { return rates.slow(); }

  const milliseconds look;
  LinkRates rates;
  std::map<Seat, Flow> flows;
  LinkRates::Clock::time_point now = LinkRates::Clock::now();
  std::mt19937 random{1};
  std::uniform_real_distribution<double> vary;
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

/// Looks that are as short as they are where a rank is in a call all the time.
constexpr milliseconds kShort{50};
constexpr double kVaries = 0.35;

/// How long it takes to tell of the second of three links once it is at this rate, of 100.
milliseconds time_until_told(double rate, double varies, std::uint32_t seed) {
  Traffic traffic(kShort, varies);
  traffic.random.seed(seed);
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  EXPECT_EQ(traffic.slow(), Slow());
  const auto since = traffic.now;
  while (traffic.slow().empty() && traffic.now < since + milliseconds(5000)) {
    traffic.send(kShort, {{100, 0.6}, {rate}, {100, 0.7}});
  }
  const Slow slow = traffic.slow();
  EXPECT_EQ(slow.size(), 1U);
  for (const auto& [peer, percent] : slow) {
    EXPECT_EQ(peer, 2_seat);
    EXPECT_NEAR(percent, rate, 6);
  }
  return std::chrono::duration_cast<milliseconds>(traffic.now - since);
}

TEST(LinkRates, TellsWithinHalfASecondAndAWindow) {
  for (const double rate : {50, 40, 25}) {
    EXPECT_LE(time_until_told(rate, 0.05, 1), milliseconds(600)) << rate;
  }
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    EXPECT_LE(time_until_told(50, 0.25, seed), milliseconds(800)) << seed;
  }
}

TEST(LinkRates, RatesThatVaryAreNoReason) {
  Traffic traffic(kShort, kVaries);
  for (int minute = 0; minute < 60; ++minute) {
    traffic.send(milliseconds(60'000), {{100}, {50}, {20}});
    ASSERT_EQ(traffic.slow(), Slow()) << minute;
  }
}

TEST(LinkRates, AHiccupIsNoReasonHoweverOftenItIsLookedAt) {
  Traffic traffic(kShort);
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  for (int i = 0; i < 100; ++i) {
    traffic.send(milliseconds(450), {{100}, {10}, {100}});
    traffic.send(milliseconds(600), {{100}, {100}, {100}});
    ASSERT_EQ(traffic.slow(), Slow()) << i;
  }
}

/// What waits for a slow link elsewhere sends in bursts: little at times, and at full rate then.
TEST(LinkRates, WhatWaitsForOthersIsNotSlow) {
  Traffic traffic(kShort);
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  for (int i = 0; i < 200; ++i) {
    traffic.send(milliseconds(150), {{100, 0.3}, {55}, {100, 0.2}});
    traffic.send(milliseconds(100), {{100}, {100}, {100}});
    ASSERT_EQ(traffic.slow(), Slow()) << i;
  }
}

/// As while schedules are made, which takes all processors.
TEST(LinkRates, WhatIsOverlookedTellsNothing) {
  Traffic traffic(kShort);
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  for (int i = 0; i < 40; ++i) {
    traffic.rates.overlook();
    traffic.send(kShort, {{100}, {10}, {100}});
  }
  EXPECT_EQ(traffic.slow(), Slow());
  traffic.send(milliseconds(1000), {{100}, {100}, {100}});
  EXPECT_EQ(traffic.slow(), Slow());
}

/// Both ends notice; what the second was about to tell is not forgotten when the first has.
TEST(LinkRates, LearnsAnewButWhatItIsAboutToTell) {
  Traffic traffic(kShort);
  traffic.send(milliseconds(3000), {{100}, {100}, {100}});
  traffic.send(milliseconds(400), {{100, 0.5}, {30}, {100, 0.5}});
  EXPECT_EQ(traffic.slow(), Slow());
  traffic.rates.relearn();
  traffic.send(milliseconds(3000), {{100}, {30}, {100}});
  ASSERT_EQ(traffic.slow().size(), 1U);
  EXPECT_NEAR(traffic.slow()[0].percent, 30, 5);
}

}  // namespace
}  // namespace multitree::runtime::test
