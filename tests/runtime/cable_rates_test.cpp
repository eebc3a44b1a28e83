// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What cables are worth that carry parts of the same messages, on links of a model: each sends
/// what it is given at its own rate, and a message is over with its last part.
#include "runtime/messages/tcp/cable_rates_internal.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "runtime/messages/tcp/shares_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using Rates = std::vector<std::uint32_t>;

/// A sender of messages over cables of these rates, in Mbit/s.
class Sender {
 public:
  Sender(const Rates& declared, Rates real)
      : real_(std::move(real)), flows_(declared.size()), free_(declared.size(), now_) {
    rates_.declare(declared);
  }
  void become(Rates real) { real_ = std::move(real); }
  void run(std::chrono::milliseconds time, std::size_t bytes = 60 * 1024) {
    const auto until = now_ + time;
    while (now_ < until) {
      send(bytes);
      if (!rates_.is_due(now_)) continue;
      const std::vector<std::optional<Flow>> flows(flows_.begin(), flows_.end());
      changes_ += rates_.look(flows, now_) ? 1 : 0;
    }
  }
  [[nodiscard]] double share(std::size_t cable, std::size_t bytes = 60 * 1024) const {
    return static_cast<double>(shares_of(bytes, rates_.mbits())[cable]) /
           static_cast<double>(bytes);
  }
  CableRates& rates() { return rates_; }
  [[nodiscard]] int changes() const { return changes_; }
  void hold() { held_ = true; }
  /// Cables let through at once what they could have carried while they were idle, up to so much.
  void save_up(double bytes) { most_saved_ = bytes; }

 private:
  void send(std::size_t bytes) {
    const auto shares = shares_of(bytes, rates_.mbits());
    std::chrono::microseconds longest{1};
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] == 0) continue;
      // A round trip besides, and what other work on the processors does to it.
      const double noise = std::uniform_real_distribution(0.9, 1.1)(random_);
      const std::chrono::duration<double, std::micro> idle = now_ - free_[i];
      const double saved = std::min(most_saved_, idle.count() * real_[i] / 8);
      const double slowly = std::max(0.0, static_cast<double>(shares[i]) - saved);
      const auto took = std::chrono::microseconds(
          static_cast<std::int64_t>(100 + noise * slowly * 8 / std::max(real_[i], 1U)));
      free_[i] = now_ + took;
      flows_[i].bytes += shares[i];
      flows_[i].busy += took;
      if (held_) flows_[i].held += took;
      longest = std::max(longest, took);
    }
    now_ += longest;
  }

  CableRates rates_;
  Rates real_;
  std::vector<Flow> flows_;
  CableRates::Clock::time_point now_{1h};
  std::vector<CableRates::Clock::time_point> free_;
  double most_saved_ = 0;
  std::mt19937 random_{7};
  int changes_ = 0;
  bool held_ = false;
};

TEST(CableRates, AreThoseDeclaredWhileTheyHold) {
  for (const Rates& rates : {Rates{100, 100}, Rates{20, 8}, Rates{10'000, 1000, 2500}}) {
    Sender sender(rates, rates);
    sender.run(5s);
    EXPECT_EQ(sender.rates().mbits(), rates);
    EXPECT_EQ(sender.changes(), 0);
  }
}

TEST(CableRates, FollowACableThatBecomesSlowAndBack) {
  Sender sender({100, 100}, {100, 100});
  sender.run(1s);
  sender.become({100, 20});
  sender.run(1s);
  EXPECT_NEAR(sender.share(1), 1.0 / 6, 0.05);
  EXPECT_NEAR(sender.rates().left(1), 0.2, 0.06);
  EXPECT_EQ(sender.rates().left(0), 1);
  sender.become({100, 100});
  sender.run(2s);
  EXPECT_THAT(sender.rates().mbits(), ElementsAre(100, 100));
}

/// A cable with a small share has saved up for it, and seems faster than it is: the other is no
/// slower for that.
TEST(CableRates, BlameNoCableForWhatAnotherHasSavedUp) {
  for (const std::size_t bytes : {std::size_t{60} << 10, std::size_t{2} << 20}) {
    Sender sender({100, 100}, {100, 100});
    sender.save_up(72'000);
    sender.become({100, 20});
    sender.run(3s, bytes);
    sender.become({100, 100});
    for (int i = 0; i < 100; ++i) {
      sender.run(200ms, bytes);
      ASSERT_EQ(sender.rates().left(0), 1) << bytes << ", " << i;
    }
    EXPECT_THAT(sender.rates().mbits(), ElementsAre(100, 100)) << bytes;
  }
}

TEST(CableRates, FollowTheFastestOfWhatIsLeft) {
  Sender sender({100, 100, 100}, {50, 100, 10});
  sender.run(2s);
  EXPECT_NEAR(sender.share(0), 50.0 / 160, 0.05);
  EXPECT_NEAR(sender.share(2), 10.0 / 160, 0.03);
  // All slower alike: nothing to divide in another way.
  Sender alike({100, 100}, {50, 50});
  alike.run(2s);
  EXPECT_EQ(alike.changes(), 0);
}

TEST(CableRates, GiveACableWithoutAShareAnotherChance) {
  Sender sender({100, 100}, {100, 1});
  sender.run(4s);
  EXPECT_LT(sender.share(1), 0.03);
  sender.become({100, 100});
  sender.run(60s);
  EXPECT_THAT(sender.rates().mbits(), ElementsAre(100, 100));
}

TEST(CableRates, BlameNoCableForAReceiverWithoutRoom) {
  Sender sender({100, 100}, {100, 30});
  sender.hold();
  sender.run(5s);
  EXPECT_EQ(sender.changes(), 0);
}

TEST(CableRates, AreNothingForWhatCarriesNothing) {
  CableRates rates;
  rates.declare({100, 0});
  EXPECT_THAT(rates.mbits(), ElementsAre(100, 0));
  const std::vector<std::optional<Flow>> flows{Flow{1 << 20, 1s, 0s}, std::nullopt};
  const CableRates::Clock::time_point begin{1h};
  EXPECT_FALSE(rates.look(flows, begin));
  const std::vector<std::optional<Flow>> later{Flow{2 << 20, 2s, 0s}, std::nullopt};
  EXPECT_FALSE(rates.look(later, begin + 1s));
  EXPECT_THAT(rates.mbits(), ElementsAre(100, 0));
}

}  // namespace
}  // namespace multitree::runtime::tcp
