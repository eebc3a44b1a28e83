// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages that are divided among cables: nothing is lost, and all end at the same time.
#include "runtime/messages/tcp/shares_internal.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

namespace multitree::runtime::tcp {
namespace {

using ::testing::ElementsAre;
using Rates = std::vector<std::uint32_t>;

TEST(Shares, OfEqualCablesAreEqual) {
  EXPECT_THAT(shares_of(1 << 20, Rates{100, 100}), ElementsAre(1 << 19, 1 << 19));
}

TEST(Shares, AreInProportionToRates) {
  const auto shares = shares_of(2'800'000, Rates{8, 20});
  EXPECT_NEAR(static_cast<double>(shares[0]), 800'000, 64);
  EXPECT_EQ(shares[0] + shares[1], 2'800'000U);
  EXPECT_EQ(shares[0] % 64, 0U) << "the second begins where memory is copied well";
}

TEST(Shares, OfOneCableAreAll) {
  EXPECT_THAT(shares_of(12'345, Rates{7}), ElementsAre(12'345));
  EXPECT_THAT(shares_of(0, Rates{7}), ElementsAre(0));
  EXPECT_THAT(shares_of(12'345, Rates{0}), ElementsAre(12'345)) << "there is no other";
}

TEST(Shares, OfNothingAreNothing) { EXPECT_THAT(shares_of(0, Rates{20, 20}), ElementsAre(0, 0)); }

TEST(Shares, OfShortMessagesAreTheFastestsAlone) {
  EXPECT_THAT(shares_of(100, Rates{8, 20}), ElementsAre(0, 100));
  EXPECT_THAT(shares_of(1500, Rates{20, 20}), ElementsAre(1500, 0)) << "less than two packets";
  EXPECT_THAT(shares_of(40'000, Rates{10'000, 10'000}), ElementsAre(40'000, 0)) << "16 us on both";
  EXPECT_THAT(shares_of(60'000, Rates{10'000, 10'000}), ElementsAre(29'952, 30'048));
}

TEST(Shares, OfASlowCableAreNoneWhereTheyAreNotWorthAMessage) {
  EXPECT_THAT(shares_of(60'000, Rates{1000, 1}), ElementsAre(60'000, 0));
  EXPECT_THAT(shares_of(60'000, Rates{1, 1000, 1000}), ElementsAre(0, 29'952, 30'048));
  EXPECT_GT(shares_of(60'000, Rates{100, 10})[1], 5000U);
}

TEST(Shares, OfCablesThatCarryNothingAreNone) {
  EXPECT_THAT(shares_of(60'000, Rates{0, 20, 0}), ElementsAre(0, 60'000, 0));
  EXPECT_THAT(shares_of(60'000, Rates{20, 0, 20}), ElementsAre(29'952, 0, 30'048));
  EXPECT_THAT(shares_of(60'000, Rates{0, 0, 0}), ElementsAre(60'000, 0, 0));
}

TEST(Shares, AreAlwaysTheWholeMessage) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Rates rates(1 + random() % 6);
    for (std::uint32_t& rate : rates) {
      rate = random() % 5 == 0 ? 0 : static_cast<std::uint32_t>(random() >> (32 + random() % 32));
    }
    const std::size_t bytes = random() >> (18 + random() % 46);
    const auto shares = shares_of(bytes, rates);
    ASSERT_EQ(shares.size(), rates.size());
    ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), std::size_t{0}), bytes);
    const bool any = std::ranges::any_of(rates, [](std::uint32_t rate) { return rate != 0; });
    for (std::size_t c = 0; c < rates.size(); ++c) {
      ASSERT_TRUE(shares[c] == 0 || rates[c] != 0 || !any) << c;
    }
  }
}

}  // namespace
}  // namespace multitree::runtime::tcp
