// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Headers and flits as software makes them. That the hardware makes the same is what job_test.cpp
/// shows.
#include <gtest/gtest.h>

#include <random>

#include "rtl/wire/worm.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kHop = mt_pkg::kHopW;

TEST(Worm, HeadersSayWhatWasWritten) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto bits = [&](std::uint32_t width) {
      return static_cast<std::uint32_t>(random()) >> (32 - width);
    };
    const WormHeader header{.gather = bits(1) != 0,
                            .last = bits(1) != 0,
                            .lanes = bits(mt_pkg::kLanesW),
                            .src = bits(mt_pkg::kSrcW),
                            .turn = bits(mt_pkg::kCountW),
                            .after = bits(mt_pkg::kCountW),
                            .piece = bits(mt_pkg::kPieceW),
                            .flits = bits(mt_pkg::kLenW),
                            .offset = bits(mt_pkg::kLenW),
                            .start = bits(mt_pkg::kStartW)};
    const FlitData data = encode(header, bits(mt_pkg::kShortRouteW));
    EXPECT_EQ(decode_header(data), header);
    EXPECT_FALSE(is_route(data));
  }
}

TEST(Worm, AHopIsTakenOffAndNothingElseChanges) {
  const WormHeader header{.last = true, .piece = 5, .flits = 9, .start = 0xabcdef};
  const std::uint32_t hops = 0x1a5 | 0x0c3U << kHop | 0x011U << 2 * kHop;
  LinkFlit head = make_flit(encode(header, hops), true, false);
  for (const std::uint32_t hop : {0x1a5U, 0x0c3U, 0x011U, 0U}) {
    const Hop taken = take_hop(head);
    EXPECT_EQ(taken.port | taken.channels << mt_pkg::kHopPortW, hop);
    EXPECT_EQ(decode_header(data_of(head)), header);
    EXPECT_TRUE(is_intact(head));
  }
}

TEST(Worm, LongRoutesHaveFourteenHops) {
  FlitData data{};
  for (std::uint32_t hop = 0; hop < mt_pkg::kLongHops; ++hop) {
    const std::uint32_t at = hop * kHop;
    data[at / 32] |= (hop + 1) << (at % 32);
    if (at % 32 + kHop > 32) data[at / 32 + 1] |= (hop + 1) >> (32 - at % 32);
  }
  data[3] |= 1U << 31;
  LinkFlit head = make_flit(data, true, false);
  for (std::uint32_t hop = 0; hop < mt_pkg::kLongHops; ++hop) {
    ASSERT_TRUE(is_route(data_of(head)));
    EXPECT_EQ(take_hop(head).port, hop + 1);
    EXPECT_TRUE(is_intact(head));
  }
}

TEST(Worm, AWrongBitStaysWrong) {
  for (std::uint32_t bit = 0; bit < mt_pkg::kFlitBits; ++bit) {
    LinkFlit flit = make_flit(encode({.flits = 3}, 0x123456), true, true);
    EXPECT_TRUE(is_intact(flit));
    EXPECT_TRUE(is_tail(flit));
    flit.bits[bit / 32] ^= 1U << (bit % 32);
    EXPECT_FALSE(is_intact(flit)) << bit;
    // The hop that is taken off takes its wrong bit with it, but not the parity's.
    take_hop(flit);
    EXPECT_FALSE(is_intact(flit)) << bit;
  }
}

}  // namespace
}  // namespace multitree::rtl
