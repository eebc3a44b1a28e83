// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_table, mt_step_timer and mt_scoreboard against models of them, in every cycle.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "../prim/bench.hpp"
#include "Vscoreboard.h"
#include "Vstep_timer.h"
#include "Vtable_1.h"
#include "Vtable_6.h"
#include "rtl/sim/stop.hpp"

namespace multitree::rtl {
namespace {

// ---- Tables.

template <typename Model>
class TableBench {
 public:
  TableBench(unsigned width, std::size_t depth, int seed)
      : width_(width), depth_(depth), bench_(seed) {
    bench_->clear_i = bench_->rewind_i = bench_->write_i = bench_->pop_i = 0;
    bench_.reset();
  }

  struct Inputs {
    bool clear = false, rewind = false, write = false, pop = false;
    std::uint64_t entry = 0;
  };
  /// \returns the entry that was popped, or -1.
  std::int64_t cycle(Inputs in) {
    in.pop = in.pop && valid_;
    bench_->clear_i = in.clear;
    bench_->rewind_i = in.rewind;
    bench_->write_i = in.write;
    put(bench_->entry_i, in.entry & low_bits(width_));
    bench_->pop_i = in.pop;
    bench_.settle();
    EXPECT_EQ(bench_->valid_o, valid_);
    EXPECT_EQ(bench_->full_o, entries_.size() == depth_);
    if (valid_) {
      EXPECT_EQ(bench_->entry_o, shown_);
    }
    EXPECT_EQ(bench_->parity_error_o, valid_ && std::popcount(shown_) % 2 != 0);
    const std::int64_t popped = in.pop ? static_cast<std::int64_t>(shown_) : -1;
    step(in);
    bench_.rise();
    return popped;
  }

 private:
  void step(const Inputs& in) {
    const std::size_t before = entries_.size();
    if (in.clear) {
      entries_.clear();
      next_ = 0;
      valid_ = false;
      return;
    }
    if (in.write && entries_.size() < depth_) entries_.push_back(in.entry & low_bits(width_));
    if (in.rewind) {
      next_ = 0;
      valid_ = false;
    } else if (!valid_ || in.pop) {
      valid_ = next_ < before;  // one that is written now is seen in the next cycle
      if (valid_) shown_ = entries_[next_++];
    }
  }

  unsigned width_;
  std::size_t depth_;
  Bench<Model> bench_;
  std::vector<std::uint64_t> entries_;
  std::size_t next_ = 0;
  std::uint64_t shown_ = 0;
  bool valid_ = false;
};

template <typename Model>
void random_table(unsigned width, std::size_t depth) {
  for (int seed = 1; seed <= 20; ++seed) {
    TableBench<Model> table(width, depth, seed);
    std::mt19937_64 random(static_cast<unsigned>(seed));
    for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) {
      table.cycle({.clear = random() % 60 == 0,
                   .rewind = random() % 20 == 0,
                   .write = random() % 3 == 0,
                   .pop = random() % 4 != 0,
                   .entry = random()});
    }
  }
}

TEST(Table, FollowsItsModel) {
  random_table<Vtable_1>(8, 1);
  random_table<Vtable_6>(19, 6);
}

TEST(Table, GivesAnEntryInEveryCycleAndAgainAfterARewind) {
  TableBench<Vtable_6> table(19, 6, 1);
  for (std::uint64_t e = 0; e < 8; ++e) table.cycle({.write = true, .entry = e});  // two too many
  for (int again = 0; again < 3; ++again) {
    table.cycle({.rewind = true});
    table.cycle({});
    for (std::int64_t e = 0; e < 6; ++e) EXPECT_EQ(table.cycle({.pop = true}), e);
    EXPECT_EQ(table.cycle({.pop = true}), -1);
  }
}

// ---- Steps.

TEST(StepTimer, StepsLastAsLongAsSaidAndUntilAllIsSent) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    Bench<Vstep_timer> bench(round);
    bench->clear_i = bench->write_i = bench->start_i = bench->running_i = bench->sent_i = 0;
    bench.reset();
    for (int again = 0; again < 3; ++again) {
      bench->running_i = 0;
      bench->clear_i = 1;
      bench.cycle();
      bench->clear_i = 0;
      std::vector<std::uint64_t> lengths(1 + random() % 12);
      for (std::uint64_t& length : lengths) {
        length = 1 + (random() % 2 == 0 ? random() % 3 : random() % 40);
        bench->write_i = 1;
        put(bench->length_i, length);
        bench.settle();
        EXPECT_EQ(bench->full_o, 0);
        bench.rise();
      }
      bench->write_i = 0;
      bench.cycle();
      bench->start_i = 1;
      bench.settle();
      EXPECT_EQ(bench->full_o, lengths.size() == 12);
      bench.rise();
      bench->start_i = 0;
      bench->running_i = 1;
      const auto sent_often = 1 + random() % 8;
      std::size_t step = 0;
      std::uint64_t since = 0;  // cycles that count in the step
      for (int cycle = 0; cycle < 400; ++cycle) {
        const bool sent = random() % 8 < sent_often;
        bench->sent_i = sent;
        bench.settle();
        // A step is over when its time has passed and all of it is sent; the next counts at once.
        EXPECT_EQ(bench->current_o, step);
        if (sent && since >= lengths[step] && step + 1 < lengths.size()) {
          ++step;
          since = 0;
        }
        ++since;
        ASSERT_EQ(bench->step_o, step) << "round " << round << ", cycle " << cycle;
        bench.rise();
      }
    }
  }
}

// ---- Counts.

/// A scoreboard whose ports do what they may, at random, and what it has to count.
class ScoreboardBench {
 public:
  explicit ScoreboardBench(int seed) : bench_(seed), random_(static_cast<unsigned>(seed)) {
    clear_inputs();
    bench_->tx_piece_i = bench_->rx_piece_i = bench_->taken_piece_i = 0;
    bench_->clear_i = 0;
    bench_.reset();
    clear();
  }

  void cycle() {
    if (random_() % 100 == 0) clear();
    const Inputs in = choose();
    put(bench_->tx_sent_i, in.sends);
    put(bench_->rx_claim_i, in.claims);
    put(bench_->taken_i, in.takes);
    bench_.settle();
    for (unsigned p = 0; p < kPorts; ++p) {
      EXPECT_EQ(of(bench_->tx_taken_o, p), taken_[in.tx[p]]);
      EXPECT_EQ(of(bench_->rx_taken_o, p), taken_[in.rx[p]]);
      EXPECT_EQ(of(bench_->rx_sent_o, p), sent_[in.rx[p]]);
      EXPECT_EQ(of(bench_->rx_claimed_o, p), claimed_[in.rx[p]]);
    }
    for (const unsigned piece : in.claimed) ++claimed_[piece];
    for (unsigned piece = 0; piece < kPieces; ++piece) {
      taken_[piece] += in.more_taken[piece];
      sent_[piece] += in.more_sent[piece];
    }
    bench_.rise();
  }

 private:
  static constexpr unsigned kPorts = 4, kPieceBits = 3, kPieces = 1 << kPieceBits, kCountBits = 5;
  static constexpr unsigned kMostCount = (1 << kCountBits) - 1;
  using Counts = std::array<unsigned, kPieces>;
  struct Inputs {
    std::array<unsigned, kPorts> tx{}, rx{};  ///< pieces
    unsigned sends = 0, claims = 0, takes = 0;
    std::set<unsigned> claimed;
    Counts more_taken{}, more_sent{};
  };

  static unsigned of(std::uint64_t all, unsigned port) {
    return static_cast<unsigned>(all >> port * kCountBits & kMostCount);
  }

  void clear_inputs() { bench_->tx_sent_i = bench_->rx_claim_i = bench_->taken_i = 0; }

  void clear() {
    clear_inputs();
    bench_->clear_i = 1;
    for (unsigned p = 0; p < kPieces; ++p) {
      put(bench_->clear_piece_i, p);
      bench_.cycle();
    }
    bench_->clear_i = 0;
    taken_ = sent_ = claimed_ = {};
  }

  /// What the ports do in a cycle; sets the pieces.
  Inputs choose() {
    Inputs in;
    std::uint64_t tx_all = 0, rx_all = 0, taken_all = 0;
    const unsigned few = random_() % 2 == 0 ? 1 : kPieces;  // often all the same piece
    const auto base = static_cast<unsigned>(random_() % kPieces);
    const auto any = [&] { return static_cast<unsigned>(base + random_() % few) % kPieces; };
    for (unsigned p = 0; p < kPorts; ++p) {
      const unsigned tx = in.tx[p] = any(), rx = in.rx[p] = any(), taken = any();
      tx_all |= std::uint64_t{tx} << p * kPieceBits;
      rx_all |= std::uint64_t{rx} << p * kPieceBits;
      taken_all |= std::uint64_t{taken} << p * kPieceBits;
      if (random_() % 2 == 0 && sent_[tx] + in.more_sent[tx] < kMostCount) {
        in.sends |= 1U << p;
        ++in.more_sent[tx];
      }
      // Two ports never begin messages of one piece in one cycle: their turns differ.
      if (random_() % 2 == 0 && claimed_[rx] < kMostCount && in.claimed.insert(rx).second) {
        in.claims |= 1U << p;
      }
      if (random_() % 2 == 0 && taken_[taken] + in.more_taken[taken] < claimed_[taken]) {
        in.takes |= 1U << p;
        ++in.more_taken[taken];
      }
    }
    put(bench_->tx_piece_i, tx_all);
    put(bench_->rx_piece_i, rx_all);
    put(bench_->taken_piece_i, taken_all);
    return in;
  }

  Bench<Vscoreboard> bench_;
  std::mt19937_64 random_;
  Counts taken_{}, sent_{}, claimed_{};
};

TEST(Scoreboard, CountsOfAllPortsAtOnce) {
  for (int seed = 1; seed <= 10; ++seed) {
    ScoreboardBench bench(seed);
    for (int cycle = 0; cycle < 3000 && !testing::Test::HasFailure(); ++cycle) bench.cycle();
  }
}

TEST(ScoreboardAssertions, TakenInBeforeItIsBegun) {
  Bench<Vscoreboard> bench;
  bench->tx_sent_i = bench->rx_claim_i = bench->taken_i = 0;
  bench->clear_i = 1;
  bench->clear_piece_i = 0;
  bench.reset();
  bench.cycle();
  bench->clear_i = 0;
  bench->taken_i = 1;
  bench->taken_piece_i = 0;
  EXPECT_THROW(bench.cycle(), AssertionFailed);
}

}  // namespace
}  // namespace multitree::rtl
