// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Headers and flits as software makes them. That the hardware makes the same is what job_test.cpp
/// shows.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>

#include "rtl/wire/worm.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kHop = mt_pkg::kHopW;

class Worm : public testing::TestWithParam<std::uint32_t> {
 protected:
  FlitShape shape{GetParam()};
};

TEST_P(Worm, HeadersSayWhatWasWritten) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    const auto bits = [&](std::uint32_t width) {
      return static_cast<std::uint32_t>(random()) >> (32 - width);
    };
    const WormHeader header{.gather = bits(1) != 0,
                            .last = bits(1) != 0,
                            .lanes = bits(shape.lanes_bits()),
                            .src = bits(mt_pkg::kSrcW),
                            .turn = bits(mt_pkg::kCountW),
                            .after = bits(mt_pkg::kCountW),
                            .piece = bits(mt_pkg::kPieceW),
                            .flits = bits(mt_pkg::kLenW),
                            .offset = bits(mt_pkg::kLenW),
                            .start = bits(mt_pkg::kStartW)};
    const FlitData data = encode(header, bits(mt_pkg::kShortRouteW), shape);
    EXPECT_EQ(decode_header(data, shape), header);
    EXPECT_FALSE(is_route(data, shape));
  }
}

TEST_P(Worm, AHopIsTakenOffAndNothingElseChanges) {
  const WormHeader header{.last = true, .piece = 5, .flits = 9, .start = 0xabcdef};
  const std::uint32_t hops = 0x1a5 | 0x0c3U << kHop | 0x011U << 2 * kHop;
  LinkFlit head = make_flit(encode(header, hops, shape), true, false, shape);
  for (const std::uint32_t hop : {0x1a5U, 0x0c3U, 0x011U, 0U}) {
    const Hop taken = take_hop(head, shape);
    EXPECT_EQ(taken.port | taken.channels << mt_pkg::kHopPortW, hop);
    EXPECT_EQ(decode_header(data_of(head, shape), shape), header);
    EXPECT_TRUE(is_intact(head, shape));
  }
}

TEST_P(Worm, LongRoutesHaveFourteenHops) {
  std::array<std::uint32_t, 4> words{};  // as registers have them
  for (std::uint32_t hop = 0; hop < mt_pkg::kLongHops; ++hop) {
    const std::uint32_t at = hop * kHop;
    words[at / 32] |= (hop + 1) << (at % 32);
    if (at % 32 + kHop > 32) words[at / 32 + 1] |= (hop + 1) >> (32 - at % 32);
  }
  words[3] |= 1U << 30;
  LinkFlit head = make_flit(route_flit(words.data(), shape), true, false, shape);
  for (std::uint32_t hop = 0; hop < mt_pkg::kLongHops; ++hop) {
    ASSERT_TRUE(is_route(data_of(head, shape), shape));
    EXPECT_EQ(take_hop(head, shape).port, hop + 1);
    EXPECT_TRUE(is_intact(head, shape));
  }
}

TEST_P(Worm, AWrongBitStaysWrong) {
  for (std::uint32_t bit = 0; bit < shape.bits(); ++bit) {
    LinkFlit flit = make_flit(encode({.flits = 3}, 0x123456, shape), true, true, shape);
    EXPECT_TRUE(is_intact(flit, shape));
    EXPECT_TRUE(is_tail(flit, shape));
    flit.bits[bit / 32] ^= 1U << (bit % 32);
    EXPECT_FALSE(is_intact(flit, shape)) << bit;
    // The hop that is taken off takes its wrong bit with it, but not the parity's.
    take_hop(flit, shape);
    EXPECT_FALSE(is_intact(flit, shape)) << bit;
  }
}

INSTANTIATE_TEST_SUITE_P(Bytes, Worm, testing::ValuesIn(kFlitBytes));

}  // namespace
}  // namespace multitree::rtl
