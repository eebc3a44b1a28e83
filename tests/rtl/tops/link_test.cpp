// SPDX-License-Identifier: BSD-3-Clause
// Links of several lengths against a queue.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "Vlink_1.h"
#include "Vlink_17.h"
#include "Vlink_2.h"
#include "Vlink_3.h"
#include "Vlink_4.h"
#include "tests/rtl/prim/bench.hpp"

namespace multitree::rtl {
namespace {

template <typename Model, std::size_t Latency>
struct Length {
  using Link = Model;
  static constexpr std::size_t latency = Latency;
};

template <typename T>
class Links : public testing::Test {};
using Lengths = testing::Types<Length<Vlink_1, 1>, Length<Vlink_2, 2>, Length<Vlink_3, 3>,
                               Length<Vlink_4, 4>, Length<Vlink_17, 17>>;
TYPED_TEST_SUITE(Links, Lengths);

/// What is on one side of a link in a cycle.
struct Side {
  bool valid = false, credit = false;
  unsigned vc = 0, credit_vc = 0;
  std::uint32_t low = 0, high = 0;  // words of the flit
};

TYPED_TEST(Links, DelayFlitsAndCredits) {
  for (int seed = 1; seed <= 4; ++seed) {
    Bench<typename TypeParam::Link> link(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    const std::size_t words = std::size(link->flit_i.m_storage) - 2;
    // Something is under way when it is reset: it does not arrive.
    for (int c = 0; c < 20; ++c) {
      link->rst_ni = 1;
      link->valid_i = link->credit_valid_i = 1;
      link.cycle();
    }
    link->valid_i = link->credit_valid_i = 0;
    link.reset();
    std::deque<Side> under_way(TypeParam::latency - 1);
    const unsigned often = 1 + static_cast<unsigned>(seed) % 3;
    for (int c = 0; c < 400; ++c) {
      Side in{.valid = random() % often == 0,
              .credit = random() % often == 0,
              .vc = static_cast<unsigned>(random() % 4),
              .credit_vc = static_cast<unsigned>(random() % 4),
              .low = static_cast<std::uint32_t>(random()),
              .high = static_cast<std::uint32_t>(random())};
      link->valid_i = in.valid;
      link->vc_i = static_cast<CData>(in.vc);
      link->flit_i[0] = in.low;
      link->flit_i[words] = in.high;
      link->credit_valid_i = in.credit;
      link->credit_vc_i = static_cast<CData>(in.credit_vc);
      link.settle();
      under_way.push_back(in);
      const Side out = under_way.front();
      under_way.pop_front();
      ASSERT_EQ(link->valid_o != 0, out.valid) << "seed " << seed << ", cycle " << c;
      ASSERT_EQ(link->credit_valid_o != 0, out.credit) << "seed " << seed << ", cycle " << c;
      if (out.credit) {
        ASSERT_EQ(link->credit_vc_o, out.credit_vc) << "cycle " << c;
      }
      if (out.valid) {
        ASSERT_EQ(link->vc_o, out.vc) << "cycle " << c;
        ASSERT_EQ(link->flit_o[0], out.low) << "cycle " << c;
        ASSERT_EQ(link->flit_o[words], out.high) << "cycle " << c;
      }
      link.rise();
    }
  }
}

}  // namespace
}  // namespace multitree::rtl
