// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_router under random worms: each arrives whole, in order, where its route leads; places are
/// never overrun and all come back; outputs serve inputs in turn.
#include "router_bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <random>

#include "Vrouter_3.h"
#include "Vrouter_direct0.h"
#include "Vrouter_direct1.h"
#include "Vrouter_switch.h"

namespace multitree::rtl {
namespace {

using Router = Shape<Vrouter_3, 3, 2, 4, 512>;
using Switch = Shape<Vrouter_switch, 4, 0, 2, 8>;
// Ports of the interface with ways to and from all links, and only their own.
using AnyPorts = Shape<Vrouter_direct0, 3, 3, 4, 8>;
using DirectPorts = Shape<Vrouter_direct1, 3, 3, 4, 8>;

template <typename S>
void random_worms(std::uint64_t seeds) {
  std::mt19937_64 random(1);
  std::uint32_t number = 0;
  constexpr std::array<unsigned, 4> sizes = {1, 2, 8, 512};
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto kind = [&] { return Throttle::all[random() % std::size(Throttle::all)]; };
    const unsigned places = std::min(sizes[seed % sizes.size()], S::Depth);
    RouterBench<S> bench(places, {.in = kind(), .credits = kind(), .ready = kind()}, seed);
    for (unsigned i = 0; i < 120; ++i) {
      const auto mask = static_cast<unsigned>(1 + random() % ((1U << S::Vcs) - 1));
      const auto payload = static_cast<unsigned>(random() % 3 == 0 ? random() % 40 : random() % 5);
      bench.add(static_cast<unsigned>(random() % S::Ports),
                static_cast<unsigned>(random() % S::Vcs),
                make_worm(static_cast<unsigned>(random() % S::Ports), mask, payload,
                          random() % 3 == 0, ++number, random));
    }
    bench.run(60'000);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Router, EveryWormArrivesWholeAndInOrder) { random_worms<Router>(60); }
TEST(Router, EveryWormGetsThroughASwitch) { random_worms<Switch>(60); }

TEST(Router, TakesTheSameCyclesWithDirectPorts) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto any = worms_with_ways<AnyPorts>(seed), direct = worms_with_ways<DirectPorts>(seed);
    ASSERT_TRUE(any == direct && !testing::Test::HasFailure()) << "seed " << seed;
  }
}

// To where there is no way nothing goes, and nothing of it comes out elsewhere.
TEST(Router, LeavesAloneWhatHasNoWay) {
  std::mt19937_64 random(1);
  for (unsigned input = 0; input < DirectPorts::Ports; ++input) {
    for (unsigned output = 0; output < DirectPorts::Ports; ++output) {
      constexpr unsigned kLinks = DirectPorts::Links;
      const bool has_way =
          input < kLinks ? output < kLinks || output == kLinks + input : output == input - kLinks;
      RouterBench<DirectPorts> bench(8, {}, 1);
      bench.add(input, 0, make_worm(output, 0xf, 3, false, 1, random));
      for (unsigned c = 0; c < 20; ++c) bench.cycle();
      EXPECT_EQ(bench.is_empty(), has_way) << input << " to " << output;
    }
  }
}

TEST(Router, MovesAFlitInEveryCycle) {
  RouterBench<Router> bench(512, {}, 1);
  std::mt19937_64 random(1);
  // Each input to another output: no two meet.
  constexpr unsigned kWorms = 20, kPayload = 9;
  for (unsigned p = 0; p < Router::Ports; ++p) {
    for (unsigned i = 0; i < kWorms; ++i) {
      bench.add(p, 0, make_worm((p + 1) % Router::Ports, 1, kPayload, false, i, random));
    }
  }
  for (unsigned c = 0; c < kWorms * (kPayload + 1); ++c) bench.cycle();
  EXPECT_TRUE(bench.is_empty());
}

TEST(Router, ServesInputsInTurn) {
  RouterBench<Router> bench(512, {}, 1);
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < 100; ++i) {
    for (unsigned p = 0; p < Router::Ports; ++p) {
      bench.add(p, 0, make_worm(0, 0xf, 0, false, i, random));
    }
  }
  bench.run(1000);
  // Headers alone: all inputs ask in every cycle, so each is served once in every round.
  ASSERT_EQ(bench.order.size(), 100 * Router::Ports);
  for (std::size_t i = Router::Ports; i < bench.order.size(); ++i) {
    EXPECT_EQ(bench.order[i], bench.order[i - Router::Ports]) << i;
  }
}

TEST(Router, SharesAnOutputBetweenLongWorms) {
  RouterBench<Router> bench(512, {}, 1);
  std::mt19937_64 random(1);
  for (unsigned p = 0; p < 4; ++p) bench.add(p, 0, make_worm(0, 1U << p, 200, false, p, random));
  for (unsigned c = 0; c < 400; ++c) bench.cycle();
  for (unsigned p = 0; p < 4; ++p) EXPECT_NEAR(bench.passed[0][p], 100, 2) << p;
  bench.run(2000);
}

TEST(Router, ReportsCreditsThatComeTwice) {
  Bench<Vrouter_3> bench;
  bench->valid_i = bench->credit_valid_i = bench->load_i = 0;
  bench->credit_vc_i = 0;
  bench->places_i = 2;
  bench.reset();
  bench->load_i = 1;
  bench.cycle();
  bench->load_i = 0;
  for (unsigned p = 0; p < 3; ++p) {
    put(bench->credit_valid_i, 1U << p);
    bench.settle();
    EXPECT_EQ(bench->credit_over_o, 1U << p);
    bench.rise();
  }
}

}  // namespace
}  // namespace multitree::rtl
