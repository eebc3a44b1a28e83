// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_fifo and mt_skid against a queue, in every cycle.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "Vfifo_1.h"
#include "Vfifo_16.h"
#include "Vfifo_16_bypass.h"
#include "Vfifo_1_bypass.h"
#include "Vfifo_2.h"
#include "Vfifo_3.h"
#include "Vfifo_3___024root.h"
#include "Vfifo_3_bypass.h"
#include "Vskid_64.h"
#include "Vskid_8.h"
#include "Vskid_8___024root.h"
#include "bench.hpp"
#include "rtl/sim/stop.hpp"

namespace multitree::rtl {
namespace {

template <typename M, unsigned width, std::size_t depth, bool bypass = false>
struct Stream {
  using Model = M;
  static constexpr unsigned Width = width;
  static constexpr std::size_t Depth = depth;
  static constexpr bool Bypass = bypass;
};

/// The model and the queue that it should be.
template <typename Config>
class Pair {
 public:
  explicit Pair(int seed) : bench_(seed) {
    bench_->in_valid_i = 0;
    bench_->in_data_i = 0;
    bench_->out_ready_i = 0;
    bench_.reset();
  }

  void reset() {
    bench_.reset();
    queue_.clear();
  }

  /// One cycle. \returns whether the word went in.
  bool cycle(std::optional<std::uint64_t> word, bool take) {
    bench_->in_valid_i = word.has_value();
    put(bench_->in_data_i, word.value_or(0x5a) & low_bits(Config::Width));
    bench_->out_ready_i = take;
    bench_.settle();
    const bool ready = queue_.size() < Config::Depth;
    EXPECT_EQ(bench_->in_ready_o, ready);
    if constexpr (requires { bench_->level_o; }) {
      EXPECT_EQ(bench_->level_o, queue_.size());
    }
    const bool passes = Config::Bypass && queue_.empty() && word;
    EXPECT_EQ(bench_->out_valid_o, !queue_.empty() || passes);
    if (bench_->out_valid_o) {
      EXPECT_EQ(bench_->out_data_o, passes ? bench_->in_data_i : queue_.front());
    }
    if (word && ready) {
      queue_.push_back(bench_->in_data_i);
    }
    if (bench_->out_valid_o && take) {
      queue_.pop_front();
      ++taken_;
    }
    bench_.rise();
    return word && ready;
  }

  [[nodiscard]] std::size_t taken() const { return taken_; }

 private:
  Bench<typename Config::Model> bench_;
  std::deque<std::uint64_t> queue_;
  std::size_t taken_ = 0;
};

template <typename Config>
class StreamTest : public testing::Test {};

using Configs =
    testing::Types<Stream<Vfifo_1, 8, 1>, Stream<Vfifo_1_bypass, 8, 1, true>, Stream<Vfifo_2, 1, 2>,
                   Stream<Vfifo_3, 64, 3>, Stream<Vfifo_3_bypass, 8, 3, true>,
                   Stream<Vfifo_16, 33, 16>, Stream<Vfifo_16_bypass, 8, 16, true>,
                   Stream<Vskid_8, 8, 2>, Stream<Vskid_64, 64, 2>>;
TYPED_TEST_SUITE(StreamTest, Configs);

TYPED_TEST(StreamTest, IsAQueueUnderAnyPressure) {
  std::uint64_t seed = 0;
  for (const Throttle::Kind in : Throttle::all) {
    for (const Throttle::Kind out : Throttle::all) {
      Pair<TypeParam> pair(static_cast<int>(++seed));
      std::mt19937_64 random(seed);
      Throttle offer(in, 2 * seed);
      Throttle take(out, 2 * seed + 1);
      std::optional<std::uint64_t> word;
      for (int i = 0; i < 1000 && !this->HasFailure(); ++i) {
        if (!word && offer()) {
          word = random();
        }
        if (pair.cycle(word, take())) {
          word.reset();
        }
      }
    }
  }
}

TYPED_TEST(StreamTest, IsEmptyAfterResetInTheMiddle) {
  Pair<TypeParam> pair(1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000 && !this->HasFailure(); ++i) {
    if (random() % 20 == 0) {
      pair.reset();
    }
    pair.cycle(random() % 4 == 0 ? std::nullopt : std::optional(random()), random() % 2 == 0);
  }
}

TYPED_TEST(StreamTest, MovesAWordInEveryCycle) {
  constexpr std::size_t words = 1000;
  constexpr std::size_t latency = TypeParam::Bypass ? 0 : 1;
  // One word without bypass: in one cycle it goes in, in the next it goes out.
  constexpr std::size_t period = TypeParam::Depth == 1 && !TypeParam::Bypass ? 2 : 1;
  Pair<TypeParam> pair(1);
  for (std::size_t i = 0; i < period * words + latency; ++i) {
    pair.cycle(i, true);
  }
  EXPECT_EQ(pair.taken(), words);
}

/// A stalled word at the output.
template <typename Model>
void stall(Bench<Model>& bench) {
  bench->in_valid_i = 1;
  bench->in_data_i = 7;
  bench->out_ready_i = 0;
  bench.reset();
  bench.cycle();
  bench->in_valid_i = 0;
  bench.cycle();
}

TEST(FifoAssertions, LevelThatContradictsThePointers) {
  Bench<Vfifo_3> bench;
  stall(bench);
  bench->rootp->mt_fifo__DOT__level_q = 2;
  EXPECT_THROW(bench.cycle(), AssertionFailed);
}

TEST(FifoAssertions, WordThatChangesWhileItWaits) {
  Bench<Vfifo_3> bench;
  stall(bench);
  bench->rootp->mt_fifo__DOT__u_mem__DOT__gen_words__DOT__mem[0] ^= 1;
  bench.cycle();  // from here on at the output
  EXPECT_THROW(bench.cycle(), AssertionFailed);
}

TEST(SkidAssertions, SecondRegisterInUseBeforeTheFirst) {
  Bench<Vskid_8> bench;
  bench->in_valid_i = 0;
  bench->out_ready_i = 0;
  bench.reset();
  bench->rootp->mt_skid__DOT__ready_q = 0;
  EXPECT_THROW(bench.cycle(), AssertionFailed);
}

TEST(SkidAssertions, WordThatChangesWhileItWaits) {
  Bench<Vskid_8> bench;
  stall(bench);
  bench->rootp->mt_skid__DOT__out_q ^= 1;
  bench.cycle();  // from here on at the output
  EXPECT_THROW(bench.cycle(), AssertionFailed);
}

}  // namespace
}  // namespace multitree::rtl
