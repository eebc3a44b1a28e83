// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_unit_share: two ports with words of their own, memory and results at any speed.
#include <Vunit_share.h>
#include <gtest/gtest.h>
#include <svdpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "tests/rtl/arith/unit.hpp"
#include "tests/rtl/prim/bench.hpp"

extern "C" void mt_dpi_add(int dtype, const svBitVecVal* a, const svBitVecVal* b, svBitVecVal* r);

namespace multitree::rtl {
namespace {

constexpr unsigned kPorts = 2, kLatency = 2;

/// How willing each side is; percent.
struct Willing {
  unsigned asks = 100, copies = 0, memory = 100, results = 100;
};

/// The ports around a unit: they ask, issue, get operands from memory in order, and take results.
class Ports {
 public:
  Ports(Type type, const Willing& first, const Willing& second, unsigned seed)
      : type_(type), willing_{first, second}, random_(seed), bench_(static_cast<int>(seed)) {
    bench_->clear_i = 0;
    bench_->dtype_i = static_cast<std::uint8_t>(type);
    bench_->ask_i = bench_->valid_i = bench_->copy_i = 0;
    bench_->ready_i = 3;
    bench_.reset();
  }

  void cycle() {
    set_inputs();
    bench_.settle();
    unsigned ready = 0;
    for (unsigned p = 0; p < kPorts; ++p) {
      const bool offers = (bench_->valid_o >> p & 1) != 0;
      if (!offers || chance(willing_[p].results)) ready |= 1U << p;
    }
    put(bench_->ready_i, ready);
    bench_.settle();
    issue();
    results();
    take();
    bench_.rise();
    ++cycle_;
  }

  /// Lets everything come out. \returns whether it did.
  bool drain() {
    for (Willing& w : willing_) w = {.asks = 0};
    for (unsigned c = 0; c < 100; ++c) cycle();
    return std::ranges::all_of(
        port_, [](const Port& p) { return p.in_memory.empty() && p.in_unit.empty() && !p.done; });
  }

  std::array<unsigned, kPorts> sums{}, copies{};  ///< that have come out
  unsigned waited = 0;                            ///< cycles of words before the unit

 private:
  struct Word {
    bool copy = false;
    Flit a{}, b{};
    std::uint64_t from = 0;  // in memory: not there before that cycle
    unsigned moves = 0;      // in the unit
  };
  struct Port {
    bool asks = false;
    std::deque<Word> in_memory, in_unit;
    bool is_there = false;  // the first in memory, and its operands
    bool done = false;      // the first in the unit was accepted
  };

  bool chance(unsigned percent) { return random_() % 100 < percent; }
  Word word(bool copy) {
    Word w{.copy = copy, .from = cycle_ + 1};
    for (std::size_t i = 0; i < w.a.size(); ++i) {
      w.a[i] = static_cast<std::uint32_t>(random_());
      w.b[i] = static_cast<std::uint32_t>(random_());
    }
    return w;
  }

  void set_inputs() {
    unsigned asks = 0, valid = 0, copy = 0;
    for (unsigned p = 0; p < kPorts; ++p) {
      Port& port = port_[p];
      port.asks = chance(willing_[p].asks) && port.in_memory.size() < 2;
      if (port.asks) asks |= 1U << p;
      if (!port.is_there) {
        port.is_there = !port.in_memory.empty() && port.in_memory.front().from <= cycle_ &&
                        chance(willing_[p].memory);
      }
      if (!port.is_there) continue;
      valid |= 1U << p;
      const Word& w = port.in_memory.front();
      if (w.copy) copy |= 1U << p;
      std::copy(w.a.begin(), w.a.end(), &bench_->a_i[4 * p]);
      std::copy(w.b.begin(), w.b.end(), &bench_->b_i[4 * p]);
    }
    put(bench_->ask_i, asks);
    put(bench_->valid_i, valid);
    put(bench_->copy_i, copy);
  }

  /// Who may issue, by the rule of docs/nic-spec.md.
  void issue() {
    const bool both = port_[0].asks && port_[1].asks;
    for (unsigned p = 0; p < kPorts; ++p) {
      const bool may = (bench_->go_o >> p & 1) != 0;
      ASSERT_EQ(may, !both || (last_ ? *last_ != p : p == 0)) << "port " << p;
    }
    for (unsigned p = 0; p < kPorts; ++p) {
      Port& port = port_[p];
      if (port.asks && (bench_->go_o >> p & 1) != 0) {
        next_last_ = p;
        port.in_memory.push_back(word(false));
      } else if (!port.asks && port.in_memory.size() < 2 && chance(willing_[p].copies)) {
        port.in_memory.push_back(word(true));
      }
    }
    last_ = next_last_;
  }

  void results() {
    for (unsigned p = 0; p < kPorts; ++p) {
      Port& port = port_[p];
      const bool offers = (bench_->valid_o >> p & 1) != 0;
      const bool due = !port.in_unit.empty() && port.in_unit.front().moves == kLatency;
      ASSERT_EQ(offers, due && !port.done) << "port " << p;
      if (!offers) continue;
      const Word& w = port.in_unit.front();
      Flit expected = w.b;
      if (!w.copy) mt_dpi_add(static_cast<int>(type_), w.a.data(), w.b.data(), expected.data());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), &bench_->r_o[4 * p]))
          << "port " << p;
      if ((bench_->ready_i >> p & 1) == 0) continue;
      port.done = true;
      ++(w.copy ? copies : sums)[p];
    }
  }

  /// The edge: all moves, or nothing does.
  void take() {
    const bool moves = bench_->ready_i == 3;
    ASSERT_EQ(bench_->en_o != 0, moves);
    unsigned adds = 0;
    for (unsigned p = 0; p < kPorts; ++p) {
      Port& port = port_[p];
      const bool takes = port.is_there && (bench_->take_o >> p & 1) != 0;
      if (port.is_there && !takes) ++waited;
      if (moves) {
        if (port.done) port.in_unit.pop_front();
        port.done = false;
        for (Word& w : port.in_unit) ++w.moves;
      }
      if (!takes) {
        // Only a stall, or the other port's sum, is a reason to wait.
        ASSERT_FALSE(port.is_there && moves && port.in_memory.front().copy);
        continue;
      }
      ASSERT_TRUE(moves);
      if (!port.in_memory.front().copy) ++adds;
      port.in_unit.push_back(port.in_memory.front());
      port.in_unit.back().moves = 1;
      port.in_memory.pop_front();
      port.is_there = false;
    }
    ASSERT_LE(adds, 1U);
  }

  Type type_;
  std::array<Willing, kPorts> willing_;
  std::mt19937 random_;
  Bench<Vunit_share> bench_;
  std::array<Port, kPorts> port_;
  std::optional<unsigned> last_, next_last_;
  std::uint64_t cycle_ = 0;
};

constexpr Type kTypes[] = {Type::Int32, Type::Fp32, Type::Bf16, Type::Fp16};

TEST(UnitShare, EveryWordComesOutOnceHoweverSlowTheRestIs) {
  std::mt19937 random(1);
  constexpr unsigned kPercent[] = {5, 30, 70, 100};
  const auto any = [&] { return kPercent[random() % std::size(kPercent)]; };
  for (unsigned seed = 1; seed <= 400; ++seed) {
    const auto willing = [&] {
      return Willing{.asks = any(), .copies = any(), .memory = any(), .results = any()};
    };
    const Willing first = willing(), second = willing();
    Ports ports(kTypes[seed % 4], first, second, seed);
    for (unsigned c = 0; c < 300; ++c) {
      ports.cycle();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << " cycle " << c;
    }
    ASSERT_TRUE(ports.drain()) << "seed " << seed;
  }
}

// Memory answers in the next cycle: whoever may issue finds the unit free.
TEST(UnitShare, NoWordWaitsForTheUnitOnceItIsIssued) {
  for (unsigned copies : {0U, 50U, 100U}) {
    Ports ports(Type::Fp32, {.asks = 70, .copies = copies}, {.asks = 90, .copies = copies},
                copies + 1);
    for (unsigned c = 0; c < 2000; ++c) ports.cycle();
    EXPECT_EQ(ports.waited, 0U);
  }
}

TEST(UnitShare, PortsThatAskAlwaysGetHalf) {
  Ports ports(Type::Int32, {}, {}, 1);
  for (unsigned c = 0; c < 1003; ++c) ports.cycle();
  EXPECT_EQ(ports.sums[0], 500U);
  EXPECT_EQ(ports.sums[1], 500U);
}

TEST(UnitShare, CopiesKeepTheirRateBesideSums) {
  Ports ports(Type::Int32, {.asks = 0, .copies = 100}, {}, 1);
  for (unsigned c = 0; c < 1003; ++c) ports.cycle();
  EXPECT_EQ(ports.copies[0], 1000U);
  EXPECT_EQ(ports.sums[1], 1000U);
}

}  // namespace
}  // namespace multitree::rtl
