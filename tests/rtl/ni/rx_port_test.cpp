// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_rx_port against an untimed reference, and its errors.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "rx_bench.hpp"

namespace multitree::rtl {
namespace {

constexpr unsigned kLatency = 2, kSlots = 32;

struct Totals {
  std::uint64_t messages = 0, parked = 0, staged = 0, cycles = 0;
};

/// Few messages, so that all of their worms could wait at once.
void random_case(std::uint64_t seed, Totals& totals) {
  std::mt19937_64 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  RxConfig config{.wide = random() % 2 == 0,
                  .packet_words = random() % 2 == 0 ? 0 : 1 + below(4),
                  .overtakes = random() % 4 == 0,
                  .shy = seed % 4 == 0};
  const bool is_fast = random() % 4 == 0;
  for (Throttle::Kind& kind : config.kinds) {
    kind = is_fast ? Throttle::Kind::Always : Throttle::all[random() % std::size(Throttle::all)];
  }
  const unsigned most_words = config.packet_words == 0 ? 16 : 4 * config.packet_words;
  const unsigned lanes = config.wide ? 4 : 8;
  std::vector<RxPiece> pieces(1 + below(3));
  unsigned start = below(5), here = 0;
  for (RxPiece& piece : pieces) {
    piece.size = random() % 8 == 0 ? 0 : below(most_words * lanes + 1);
    piece.start = start;
    start += piece.size;
    piece.messages.resize(1 + below(5));
    piece.sends = below(static_cast<unsigned>(piece.messages.size()) + 2);
    const bool exchanges = random() % 2 == 0;
    for (unsigned t = 0; t < piece.messages.size(); ++t) {
      RxMessage& message = piece.messages[t];
      message.gather = random() % 4 == 0;
      message.elsewhere = here == kSlots / 4 || random() % 3 == 0;
      here += message.elsewhere ? 0 : 1;
      message.after = exchanges ? below(std::min(t + 1, piece.sends) + 1) : 0;
    }
    totals.messages += piece.messages.size();
  }
  RxBench bench(config, pieces, seed);
  bench.run();
  totals.parked += bench.parked;
  totals.staged += bench.staged;
  totals.cycles += bench.now();
}

TEST(RxPort, TakesEveryMessageInOnceAndInTurn) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    random_case(seed, totals);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  // All ways are taken often.
  EXPECT_GT(totals.parked, totals.messages / 5);
  EXPECT_GT(totals.staged, totals.messages);
  RecordProperty("messages", static_cast<int>(totals.messages));
  RecordProperty("cycles", static_cast<int>(totals.cycles));
}

RxPiece piece_of(unsigned words, unsigned messages, unsigned start = 0) {
  RxPiece piece{.start = start, .size = 4 * words};
  piece.messages.resize(messages);
  return piece;
}

TEST(RxPort, AddsAWordInEveryCycle) {
  for (const unsigned packet : {0U, 4U}) {
    RxBench bench({.packet_words = packet}, {piece_of(16, 1)}, 1);
    bench.run();
    ASSERT_EQ(bench.results.size(), 16);
    EXPECT_EQ(bench.staged, 0U);
    // Only headers make gaps, and a word is written so long after it came.
    EXPECT_EQ(bench.results.front() - bench.headers.front(), 2 + kLatency);
    const std::uint64_t worms = packet == 0 ? 1 : 16 / packet;
    EXPECT_EQ(bench.results.back() - bench.results.front(), 15 + worms - 1);
  }
}

/// A bench whose link is empty: flits come by hand.
std::unique_ptr<RxBench> by_hand(std::vector<RxPiece> pieces) {
  RxConfig config;
  for (RxPiece& piece : pieces) {
    for (RxMessage& message : piece.messages) message.elsewhere = true;
  }
  config.kinds.fill(Throttle::Kind::Always);
  config.kinds[7] = Throttle::Kind::Pauses;  // the other port does nothing for a while
  auto bench = std::make_unique<RxBench>(config, std::move(pieces), 1);
  bench->expects_errors = true;
  return bench;
}

/// \returns what was reported in so many cycles, as bits.
unsigned report(RxBench& bench, unsigned cycles) {
  bench.errors = 0;
  for (unsigned c = 0; c < cycles; ++c) bench.cycle();
  return bench.errors;
}
enum : unsigned { kNone = 0, kCorrupt = 1, kLength = 2, kPiece = 4, kTwice = 8, kFull = 16 };

TEST(RxPort, SeesEveryFlippedBit) {
  for (unsigned bit = 0; bit < HardwareFlit::kBits; ++bit) {
    const auto held = by_hand({piece_of(1, 2)});
    RxBench& bench = *held;
    auto bits = make_flit(bench.header_of(0, 1).data(), true, false).bits();
    put_bits(bits, bit, 1, ~get_bits(bits, bit, 1));
    bench.send(HardwareFlit::of(bits));
    EXPECT_EQ(report(bench, 3) & kCorrupt, unsigned{kCorrupt}) << bit;
    EXPECT_EQ(bench.parked, 0U) << bit;
  }
}

TEST(RxPort, SeesWrongLengths) {
  const FlitWord word{1, 2, 3, 4};
  const auto run = [&](const std::vector<HardwareFlit>& flits) {
    const auto held = by_hand({piece_of(2, 2)});
    RxBench& bench = *held;
    for (const HardwareFlit& flit : flits) bench.send(flit);
    return report(bench, 8);
  };
  const FlitWord header = by_hand({piece_of(2, 2)})->header_of(0, 1).data();
  const HardwareFlit head = make_flit(header, true, false), body = make_flit(word, false, false),
                     tail = make_flit(word, false, true);
  FlitWord route{};
  put_bits(route, 127, 1, 1);
  EXPECT_EQ(run({head, body, tail}), kNone);
  EXPECT_EQ(run({make_flit(route, true, false), make_flit(header, false, false), body, tail}),
            kNone);
  EXPECT_EQ(run({head, tail}), kLength);                              // too short
  EXPECT_EQ(run({head, body, body, tail}) & kLength, kLength);        // too long
  EXPECT_EQ(run({head, body, head, body, tail}) & kLength, kLength);  // no end
  EXPECT_EQ(run({make_flit(header, true, true)}), kLength);           // nothing but a header
  EXPECT_EQ(run({body}), kLength);                                    // no header
  EXPECT_EQ(run({make_flit(route, true, true)}) & kLength, kLength);
  EXPECT_EQ(run({make_flit(route, true, false), head}) & kLength, kLength);
}

TEST(RxPort, SeesPiecesThatDoNotExist) {
  for (unsigned bit = 3; bit < 14; ++bit) {
    const auto held = by_hand({piece_of(0, 2)});
    RxBench& bench = *held;
    HardwareHeader header = bench.header_of(0, 1);
    header.piece = 1U << bit;
    bench.send(make_flit(header.data(), true, true));
    EXPECT_EQ(report(bench, 3), kPiece);
    EXPECT_EQ(bench.parked, 0U);
  }
}

TEST(RxPort, SeesMessagesThatComeTwice) {
  const FlitWord word{1, 2, 3, 4};
  RxBench bench({.kinds = {}}, {piece_of(2, 1)}, 1);
  bench.run();
  bench.expects_errors = true;
  bench.send(make_flit(bench.header_of(0, 0).data(), true, false));
  bench.send(make_flit(word, false, false));
  bench.send(make_flit(word, false, true));
  EXPECT_EQ(report(bench, 6), kTwice);
  EXPECT_EQ(bench.results.size(), 2);
}

TEST(RxPort, SeesMoreEarlyWormsThanSlots) {
  const auto held = by_hand({piece_of(40, 3), piece_of(40, 3, 160)});
  RxBench& bench = *held;
  // Two pieces in turns, so that no packet joins another; none is due.
  for (unsigned i = 0; i <= kSlots; ++i) {
    HardwareHeader header = bench.header_of(i % 2, 2);
    header.offset = i;
    header.flits = 1;
    bench.send(make_flit(header.data(), true, false));
    bench.send(make_flit(FlitWord{}, false, true));
    if (i < kSlots) {
      EXPECT_EQ(report(bench, 2), kNone) << i;
    }
  }
  EXPECT_EQ(report(bench, 4), kFull);
}

TEST(RxPort, TakesNothingInWhileItIsHalted) {
  RxBench bench({}, {piece_of(8, 1)}, 1);
  while (bench.results.empty()) bench.cycle();
  bench->halt_i = 1;
  const std::size_t before = bench.results.size();
  for (int c = 0; c < 50; ++c) bench.cycle();
  EXPECT_EQ(bench.results.size(), before);
  EXPECT_EQ(bench->ready_o, 1);  // it drains its link
}

}  // namespace
}  // namespace multitree::rtl
