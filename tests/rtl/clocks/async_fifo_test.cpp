// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_async_fifo and mt_credit_cross between clocks of several ratios against what went in.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "Vasync_16.h"
#include "Vasync_2.h"
#include "Vasync_8.h"
#include "Vasync_8_stages3.h"
#include "Vcredit_cross_1.h"
#include "Vcredit_cross_4.h"
#include "Vreset_sync.h"
#include "tests/rtl/prim/bench.hpp"
#include "two_clocks.hpp"

namespace multitree::rtl {
namespace {

template <typename M, unsigned width, std::size_t depth>
struct Queue {
  using Model = M;
  static constexpr unsigned Width = width;
  static constexpr std::size_t Depth = depth;
};

/// The queue and what should be in it.
template <typename Config>
class Pair {
 public:
  Pair(const Ratio& ratio, int seed) : model_(ratio, seed) {
    model_->in_valid_i = model_->out_ready_i = 0;
    model_.reset(seed % 2 == 0);
    EXPECT_EQ(model_->out_valid_o, 0);
    EXPECT_EQ(model_->in_ready_o, 1);
  }
  void reset(bool in_first) {
    model_->in_valid_i = 0;
    model_.reset(in_first);
    words_.clear();
  }

  /// The next edge. `offer` says whether there is a word, `take` whether it is taken: each is asked
  /// in its clock's cycles.
  template <typename Offer, typename Take>
  void edge(Offer&& offer, Take&& take) {
    const Edges next = model_.next();
    if (next.in && !model_->in_valid_i && offer()) {
      model_->in_valid_i = 1;
      put(model_->in_data_i, random_() & low_bits(Config::Width));
    }
    if (next.out) model_->out_ready_i = take();
    model_.settle();
    EXPECT_LE(model_->in_level_o, Config::Depth);
    EXPECT_GE(model_->in_level_o + 1U, words_.size());  // one may be at the output
    EXPECT_EQ(model_->in_ready_o != 0, model_->in_level_o < Config::Depth);
    if (model_->out_valid_o) {
      ASSERT_FALSE(words_.empty()) << "a word that nobody has given";
      ASSERT_EQ(model_->out_data_o, words_.front());
    }
    const bool into = next.in && model_->in_valid_i && model_->in_ready_o;
    const bool outof = next.out && model_->out_valid_o && model_->out_ready_i;
    if (into) words_.push_back(model_->in_data_i);
    if (outof) {
      words_.pop_front();
      ++taken_;
      last_ = model_.now();
    }
    model_.edge();
    if (into) model_->in_valid_i = 0;
  }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  [[nodiscard]] std::size_t inside() const { return words_.size(); }
  [[nodiscard]] std::uint64_t now() const { return model_.now(); }

 private:
  TwoClocks<typename Config::Model> model_;
  std::mt19937_64 random_{7};
  std::deque<std::uint64_t> words_;
  std::size_t taken_ = 0;
  std::uint64_t last_ = 0;
};

template <typename Config>
class AsyncFifo : public testing::Test {};
using Queues = testing::Types<Queue<Vasync_2, 5, 2>, Queue<Vasync_8, 8, 8>,
                              Queue<Vasync_8_stages3, 8, 8>, Queue<Vasync_16, 33, 16>>;
TYPED_TEST_SUITE(AsyncFifo, Queues);

TYPED_TEST(AsyncFifo, LosesAndReordersNothing) {
  int seed = 0;
  for (const Ratio& ratio : kRatios) {
    SCOPED_TRACE(ratio.name);
    for (const Throttle::Kind in : Throttle::all) {
      for (const Throttle::Kind out : Throttle::all) {
        Pair<TypeParam> pair(ratio, ++seed);
        Throttle offer(in, 2 * static_cast<std::uint64_t>(seed));
        Throttle take(out, 2 * static_cast<std::uint64_t>(seed) + 1);
        for (int i = 0; i < 600 && !this->HasFailure(); ++i) pair.edge(offer, take);
        EXPECT_GT(pair.taken(), 3U);
        const auto nothing = [] { return false; };
        for (int i = 0; i < 600 && !this->HasFailure(); ++i) {
          pair.edge(nothing, [] { return true; });
        }
        ASSERT_EQ(pair.inside(), 0U) << "words that do not come out";
      }
    }
  }
}

TYPED_TEST(AsyncFifo, IsEmptyAfterResetInTheMiddle) {
  int seed = 0;
  for (const Ratio& ratio : kRatios) {
    SCOPED_TRACE(ratio.name);
    Pair<TypeParam> pair(ratio, ++seed);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    for (int i = 0; i < 3000 && !this->HasFailure(); ++i) {
      if (random() % 100 == 0) pair.reset(random() % 2 == 0);
      pair.edge([&] { return random() % 4 != 0; }, [&] { return random() % 2 == 0; });
    }
  }
}

/// A word in every cycle of the slower clock, if there are places for the way there and back.
TYPED_TEST(AsyncFifo, MovesAWordInEveryCycle) {
  if (TypeParam::Depth < 8) GTEST_SKIP() << "fewer places than the way takes cycles";
  if (std::is_same_v<typename TypeParam::Model, Vasync_8_stages3>) {
    GTEST_SKIP() << "3 stages need 10 places";
  }
  constexpr std::size_t words = 500, fill = 12;
  const auto always = [] { return true; };
  for (const Ratio& ratio : kRatios) {
    SCOPED_TRACE(ratio.name);
    Pair<TypeParam> pair(ratio, 1);
    const std::uint64_t begin = pair.now(), cycle = std::max(ratio.in, ratio.out);
    while (pair.now() < begin + (words + fill) * cycle) pair.edge(always, always);
    EXPECT_GE(pair.taken(), words);
  }
}

/// Credits of all channels arrive, as many as were given, at most as late as they are many.
template <typename Model, unsigned channels>
void carry_credits() {
  constexpr unsigned most = 15;  // of each channel under way: CountW is 4
  int seed = 0;
  for (const Ratio& ratio : kRatios) {
    SCOPED_TRACE(ratio.name);
    for (const unsigned often : {1U, 2U, 9U}) {
      TwoClocks<Model> model(ratio, ++seed);
      std::mt19937 random(static_cast<unsigned>(seed));
      model->in_valid_i = 0;
      model.reset(seed % 2 == 0);
      std::array<unsigned, channels> open{}, given{};
      std::size_t most_open = 0, came = 0;
      for (int i = 0; i < 20000; ++i) {
        const Edges next = model.next();
        const unsigned vc = static_cast<unsigned>(random() % channels);
        const bool gives = i < 15000 && next.in && open[vc] < most && random() % often == 0;
        model->in_valid_i = gives;
        model->in_vc_i = static_cast<CData>(vc);
        model.settle();
        if (next.out && model->out_valid_o) {
          ASSERT_GT(open[model->out_vc_o], 0U) << "a credit that nobody has given";
          --open[model->out_vc_o];
          ++came;
        }
        if (gives) ++open[vc], ++given[vc];
        most_open = std::max<std::size_t>(most_open, open[vc]);
        model.edge();
      }
      for (unsigned v = 0; v < channels; ++v) {
        EXPECT_EQ(open[v], 0U) << "channel " << v;
        EXPECT_GT(given[v], 20U);
      }
      EXPECT_GT(came, 100U);
      if (ratio.out >= 4 * ratio.in && often == 1) {
        EXPECT_EQ(most_open, most);
      }
    }
  }
}

TEST(CreditCross, CreditsArrive) {
  carry_credits<Vcredit_cross_1, 1>();
  carry_credits<Vcredit_cross_4, 4>();
}

TEST(ResetSync, BeginsAtOnceAndEndsWithTheClock) {
  VerilatedContext context;
  Vreset_sync model{&context, "top"};
  model.clk_i = 0;
  model.rst_ni = 1;
  const auto cycle = [&] {
    model.clk_i = 1;
    model.eval();
    model.clk_i = 0;
    model.eval();
  };
  for (int i = 0; i < 5; ++i) cycle();
  EXPECT_EQ(model.rst_no, 1);
  model.rst_ni = 0;  // without an edge
  model.eval();
  EXPECT_EQ(model.rst_no, 0);
  for (int i = 0; i < 5; ++i) cycle();
  EXPECT_EQ(model.rst_no, 0);
  model.rst_ni = 1;
  model.eval();
  EXPECT_EQ(model.rst_no, 0);
  cycle();
  EXPECT_EQ(model.rst_no, 0);
  cycle();
  EXPECT_EQ(model.rst_no, 1);
}

}  // namespace
}  // namespace multitree::rtl
