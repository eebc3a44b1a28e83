// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_rr_arb and mt_lru_arb against their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <vector>

#include "Vlru_1.h"
#include "Vlru_2.h"
#include "Vlru_5.h"
#include "Vlru_5___024root.h"
#include "Vlru_8.h"
#include "Vrr_1.h"
#include "Vrr_2.h"
#include "Vrr_5.h"
#include "Vrr_5___024root.h"
#include "Vrr_8.h"
#include "bench.hpp"
#include "rtl/sim/stop.hpp"

namespace multitree::rtl {
namespace {

/// Requesters in the order in which they are served.
class Order {
 public:
  explicit Order(unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
      order_.push_back(i);
    }
  }

  [[nodiscard]] std::optional<unsigned> first(std::uint32_t requests) const {
    const auto found =
        std::find_if(order_.begin(), order_.end(), [&](unsigned i) { return requests >> i & 1; });
    return found == order_.end() ? std::nullopt : std::optional(*found);
  }
  /// The winner goes to the end, and with it all before it.
  void rotate(unsigned winner) {
    const auto behind = std::next(std::find(order_.begin(), order_.end(), winner));
    order_.splice(order_.end(), order_, order_.begin(), behind);
  }
  /// The winner alone goes to the end.
  void demote(unsigned winner) {
    order_.splice(order_.end(), order_, std::find(order_.begin(), order_.end(), winner));
  }

 private:
  std::list<unsigned> order_;
};

template <typename M, unsigned n, void (Order::*used)(unsigned)>
struct Arbiter {
  using Model = M;
  static constexpr unsigned N = n;
  static void use(Order& order, unsigned winner) { (order.*used)(winner); }
};

template <typename Config>
class ArbiterTest : public testing::Test {
 protected:
  ArbiterTest() { reset(); }

  void reset() {
    bench->req_i = 0;
    bench->en_i = 0;
    bench.reset();
    order = Order(Config::N);
  }

  std::optional<unsigned> cycle(std::uint32_t requests, bool enable) {
    put(bench->req_i, requests);
    bench->en_i = enable;
    bench.settle();
    const std::optional<unsigned> winner = order.first(requests);
    EXPECT_EQ(bench->gnt_o, winner ? 1u << *winner : 0u);
    EXPECT_EQ(bench->gnt_idx_o, winner.value_or(0));
    if (enable && winner) {
      Config::use(order, *winner);
    }
    bench.rise();
    return winner;
  }

  static constexpr auto all = static_cast<std::uint32_t>(low_bits(Config::N));
  Bench<typename Config::Model> bench;
  Order order{Config::N};
};

using Arbiters =
    testing::Types<Arbiter<Vrr_1, 1, &Order::rotate>, Arbiter<Vrr_2, 2, &Order::rotate>,
                   Arbiter<Vrr_5, 5, &Order::rotate>, Arbiter<Vrr_8, 8, &Order::rotate>,
                   Arbiter<Vlru_1, 1, &Order::demote>, Arbiter<Vlru_2, 2, &Order::demote>,
                   Arbiter<Vlru_5, 5, &Order::demote>, Arbiter<Vlru_8, 8, &Order::demote>>;
TYPED_TEST_SUITE(ArbiterTest, Arbiters);

TYPED_TEST(ArbiterTest, GrantsInOrder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000 && !this->HasFailure(); ++i) {
    if (random() % 500 == 0) {
      this->reset();
    }
    // Few requests, or many.
    const auto requests =
        static_cast<std::uint32_t>(i / 100 % 2 ? random() & random() : random() | random());
    this->cycle(requests & this->all, random() % 3 != 0);
  }
}

TYPED_TEST(ArbiterTest, ServesAllInTurnWithoutAGap) {
  std::vector<int> served(TypeParam::N);
  for (unsigned i = 0; i < 100 * TypeParam::N; ++i) {
    ++served[this->cycle(this->all, true).value()];
  }
  EXPECT_EQ(served, std::vector<int>(TypeParam::N, 100));
}

TYPED_TEST(ArbiterTest, KeepsItsGrantUntilItIsUsed) {
  this->cycle(this->all, true);
  const std::optional<unsigned> winner = this->cycle(this->all, false);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(this->cycle(this->all, false), winner);
  }
}

TEST(ArbiterAssertions, MaskWithAHole) {
  Bench<Vrr_5> bench;
  bench->req_i = 0;
  bench->en_i = 0;
  bench.reset();
  bench->rootp->mt_rr_arb__DOT__after_q = 0b10100;
  EXPECT_THROW(bench.cycle(), AssertionFailed);
}

TEST(ArbiterAssertions, OrderThatGoesRoundInACircle) {
  Bench<Vlru_5> bench;
  bench->req_i = 0b00111;
  bench->en_i = 0;
  bench.reset();
  // 0 goes before 1, 1 before 2, 2 before 0: nobody is first.
  constexpr unsigned of_0_and_2 = 1;  // the second pair
  bench->rootp->mt_lru_arb__DOT__later_q = 1U << of_0_and_2;
  EXPECT_THROW(bench.cycle(), AssertionFailed);
}

}  // namespace
}  // namespace multitree::rtl
