// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_mem_share against its definition: who is accepted in which cycle.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "Vshare_1.h"
#include "Vshare_12.h"
#include "Vshare_48.h"
#include "Vshare_5.h"
#include "bench.hpp"
#include "rtl/sim/stop.hpp"

namespace multitree::rtl {
namespace {

template <typename M, std::uint32_t N>
struct Config {
  using Model = M;
  static constexpr std::uint32_t kStreams = N;
};

template <typename C>
class MemShareTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kStreams = C::kStreams;
  static constexpr std::uint64_t kAll = (std::uint64_t{1} << kStreams) - 1;

  void start(std::uint32_t words) {
    words_ = words;
    pointer_ = 0;
    bench->words_i = static_cast<CData>(words);
    put(bench->valid_i, 0);
    bench.reset();
  }

  /// One cycle. \returns who is accepted.
  std::uint64_t cycle(std::uint64_t asks) {
    std::uint64_t expected = 0;
    std::uint32_t left = words_;
    const std::uint32_t first = pointer_;
    for (std::uint32_t i = 0; i < kStreams && left > 0; ++i) {
      const std::uint32_t stream = (first + i) % kStreams;
      if ((asks >> stream & 1) == 0) continue;
      expected |= std::uint64_t{1} << stream;
      pointer_ = (stream + 1) % kStreams;
      --left;
    }
    put(bench->valid_i, asks);
    bench.settle();
    EXPECT_EQ(bench->ready_o, words_ == 0 ? kAll : expected);
    bench.rise();
    return words_ == 0 ? asks : expected;
  }

  Bench<typename C::Model> bench;

 private:
  template <typename Bits>
  static void put(Bits& bits, std::uint64_t value) {
    bits = static_cast<Bits>(value);
  }
  std::uint32_t words_ = 0, pointer_ = 0;
};

using Configs = testing::Types<Config<Vshare_1, 1>, Config<Vshare_5, 5>, Config<Vshare_12, 12>,
                               Config<Vshare_48, 48>>;
TYPED_TEST_SUITE(MemShareTest, Configs);

TYPED_TEST(MemShareTest, AcceptsTheFirstFromItsPointerOn) {
  std::mt19937_64 random(1);
  for (std::uint32_t words = 0; words <= TestFixture::kStreams; ++words) {
    this->start(words);
    for (int i = 0; i < 1000 && !this->HasFailure(); ++i) {
      // Few that ask, or many.
      this->cycle(TestFixture::kAll &
                  (i / 50 % 2 == 0 ? random() & random() & random() : random() | random()));
    }
  }
}

// Who asks until it is accepted waits for each other stream one time at most.
TYPED_TEST(MemShareTest, NobodyStarves) {
  std::mt19937_64 random(2);
  for (std::uint32_t words = 1; words <= TestFixture::kStreams; ++words) {
    this->start(words);
    std::uint64_t asks = 0;
    std::vector<std::uint32_t> waits(TestFixture::kStreams, 0);
    for (int i = 0; i < 1000 && !this->HasFailure(); ++i) {
      asks |= TestFixture::kAll & (i / 50 % 2 == 0 ? random() : ~std::uint64_t{0});
      asks &= ~this->cycle(asks);
      for (std::uint32_t s = 0; s < TestFixture::kStreams; ++s) {
        waits[s] = (asks >> s & 1) != 0 ? waits[s] + 1 : 0;
        EXPECT_LE(waits[s], (TestFixture::kStreams - 1) / words);
      }
    }
  }
}

}  // namespace
}  // namespace multitree::rtl
