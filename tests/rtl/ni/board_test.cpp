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

TEST(Scoreboard, CountsOfAllPortsAtOnce) {
  constexpr unsigned kPorts = 4, kPieceBits = 3, kPieces = 1 << kPieceBits, kCountBits = 5;
  constexpr unsigned kMostCount = (1 << kCountBits) - 1;
  using Counts = std::array<unsigned, kPieces>;
  for (int seed = 1; seed <= 10; ++seed) {
    Bench<Vscoreboard> bench(seed);
    std::mt19937_64 random(static_cast<unsigned>(seed));
    Counts taken{}, sent{}, claimed{};
    bench->tx_sent_i = bench->rx_claim_i = bench->taken_i = 0;
    bench->tx_piece_i = bench->rx_piece_i = bench->taken_piece_i = 0;
    const auto clear = [&] {
      bench->tx_sent_i = bench->rx_claim_i = bench->taken_i = 0;
      bench->clear_i = 1;
      for (unsigned p = 0; p < kPieces; ++p) {
        put(bench->clear_piece_i, p);
        bench.cycle();
      }
      bench->clear_i = 0;
      taken = sent = claimed = {};
    };
    bench->clear_i = 0;
    bench.reset();
    clear();
    for (int cycle = 0; cycle < 3000 && !testing::Test::HasFailure(); ++cycle) {
      if (random() % 100 == 0) clear();
      std::array<unsigned, kPorts> tx{}, rx{}, in{};
      std::uint64_t tx_all = 0, rx_all = 0, in_all = 0;
      unsigned sends = 0, claims = 0, takes = 0;
      const unsigned few = random() % 2 == 0 ? 1 : kPieces;  // often all the same piece
      const unsigned base = static_cast<unsigned>(random() % kPieces);
      std::set<unsigned> claimed_now;
      Counts more_taken{}, more_sent{};
      for (unsigned p = 0; p < kPorts; ++p) {
        tx[p] = static_cast<unsigned>(base + random() % few) % kPieces;
        rx[p] = static_cast<unsigned>(base + random() % few) % kPieces;
        in[p] = static_cast<unsigned>(base + random() % few) % kPieces;
        tx_all |= std::uint64_t{tx[p]} << p * kPieceBits;
        rx_all |= std::uint64_t{rx[p]} << p * kPieceBits;
        in_all |= std::uint64_t{in[p]} << p * kPieceBits;
        if (random() % 2 == 0 && sent[tx[p]] + more_sent[tx[p]] < kMostCount) {
          sends |= 1U << p;
          ++more_sent[tx[p]];
        }
        // Two ports never begin messages of one piece in one cycle: their turns differ.
        if (random() % 2 == 0 && claimed[rx[p]] < kMostCount && claimed_now.insert(rx[p]).second) {
          claims |= 1U << p;
        }
        if (random() % 2 == 0 && taken[in[p]] + more_taken[in[p]] < claimed[in[p]]) {
          takes |= 1U << p;
          ++more_taken[in[p]];
        }
      }
      put(bench->tx_piece_i, tx_all);
      put(bench->rx_piece_i, rx_all);
      put(bench->taken_piece_i, in_all);
      put(bench->tx_sent_i, sends);
      put(bench->rx_claim_i, claims);
      put(bench->taken_i, takes);
      bench.settle();
      const auto of = [](std::uint64_t all, unsigned p) {
        return static_cast<unsigned>(all >> p * kCountBits & kMostCount);
      };
      for (unsigned p = 0; p < kPorts; ++p) {
        EXPECT_EQ(of(bench->tx_taken_o, p), taken[tx[p]]);
        EXPECT_EQ(of(bench->rx_taken_o, p), taken[rx[p]]);
        EXPECT_EQ(of(bench->rx_sent_o, p), sent[rx[p]]);
        EXPECT_EQ(of(bench->rx_claimed_o, p), claimed[rx[p]]);
      }
      for (const unsigned piece : claimed_now) ++claimed[piece];
      for (unsigned piece = 0; piece < kPieces; ++piece) {
        taken[piece] += more_taken[piece];
        sent[piece] += more_sent[piece];
      }
      bench.rise();
    }
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
