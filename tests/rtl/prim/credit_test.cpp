// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_credit against two numbers: credits there are, credits under way.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "Vcredit_1.h"
#include "Vcredit_4.h"
#include "Vcredit_9.h"
#include "bench.hpp"
#include "rtl/sim/stop.hpp"

namespace multitree::rtl {
namespace {

template <typename M, unsigned bits>
struct Counter {
  using Model = M;
  static constexpr unsigned Bits = bits;
};

template <typename Config>
class CreditTest : public testing::Test {
 protected:
  void reset() {
    bench->load_i = 0;
    bench->take_i = 0;
    bench->give_i = 0;
    bench.reset();
    initial = 0;
    under_way = 0;
  }

  void load(unsigned credits) {
    bench->load_i = 1;
    put(bench->initial_i, credits);
    bench->take_i = 0;
    bench->give_i = 0;
    bench.cycle();
    bench->load_i = 0;
    initial = credits;
    under_way = 0;
  }

  /// One cycle; takes only what is there.
  void cycle(bool take, bool give) {
    bench->give_i = give;
    bench->take_i = 0;
    bench.settle();
    const bool back = give && under_way > 0;
    under_way -= back ? 1 : 0;
    EXPECT_EQ(bench->available_o, initial - under_way);
    EXPECT_EQ(bench->has_o, initial > under_way);
    EXPECT_EQ(bench->full_o, under_way == 0);
    EXPECT_EQ(bench->error_o, give && !back);
    if (take && initial > under_way) {
      bench->take_i = 1;
      ++under_way;
    }
    bench.cycle();
  }

  Bench<typename Config::Model> bench;
  unsigned initial = 0;
  unsigned under_way = 0;
};

using Counters =
    testing::Types<Counter<Vcredit_1, 1>, Counter<Vcredit_4, 4>, Counter<Vcredit_9, 9>>;
TYPED_TEST_SUITE(CreditTest, Counters);

TYPED_TEST(CreditTest, CountsUnderAnyPressure) {
  constexpr auto most = static_cast<unsigned>(low_bits(TypeParam::Bits));
  std::mt19937_64 random(1);
  std::uint64_t seed = 0;
  this->reset();
  for (const Throttle::Kind takes : Throttle::all) {
    for (const Throttle::Kind gives : Throttle::all) {
      this->load(seed % 4 == 0 ? most : static_cast<unsigned>(random() % (most + 1)));
      Throttle take(takes, ++seed);
      Throttle give(gives, ++seed);
      for (int i = 0; i < 1000 && !this->HasFailure(); ++i) {
        // Few surplus credits: they are errors.
        this->cycle(take(), give() && (this->under_way > 0 || random() % 8 == 0));
      }
    }
  }
}

TYPED_TEST(CreditTest, HasNoneBeforeTheFirstLoadAndAfterReset) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    this->reset();
    this->bench->initial_i = 1;
    for (int i = 0; i < 10; ++i) {
      this->cycle(true, random() % 4 == 0);
    }
    this->load(1);
    for (int i = 0; i < 10; ++i) {
      this->cycle(random() % 2 == 0, random() % 2 == 0);
    }
  }
}

TYPED_TEST(CreditTest, OneCreditThatComesBackIsUsedInTheSameCycle) {
  this->reset();
  this->load(1);
  this->cycle(true, false);
  for (int i = 0; i < 100; ++i) {
    this->cycle(true, true);
    EXPECT_EQ(this->under_way, 1);
  }
}

TYPED_TEST(CreditTest, AssertsThatItsUserKeepsTheRules) {
  this->reset();
  this->bench->take_i = 1;
  EXPECT_THROW(this->bench.cycle(), AssertionFailed);
}

TYPED_TEST(CreditTest, AssertsThatNothingIsTakenDuringALoad) {
  this->reset();
  this->load(1);
  this->bench->load_i = 1;
  this->bench->take_i = 1;
  EXPECT_THROW(this->bench.cycle(), AssertionFailed);
}

TYPED_TEST(CreditTest, AssertsThatTheInitialNumberIsHeld) {
  this->reset();
  this->load(1);
  this->cycle(false, false);
  this->bench->initial_i = 0;
  EXPECT_THROW(this->bench.cycle(), AssertionFailed);
}

}  // namespace
}  // namespace multitree::rtl
