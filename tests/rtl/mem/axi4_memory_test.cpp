// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Streams of an interface on one side, a memory behind AXI4 on the other: every word that is read
/// is the one that was accepted last before it was asked for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "../prim/bench.hpp"
#include "Vaxi_full.h"
#include "Vaxi_small.h"
#include "Vaxi_small_256.h"
#include "Vaxi_wide.h"
#include "Vaxi_wide_512.h"
#include "generated/mt_pkg.hpp"
#include "rtl/sim/memory.hpp"

namespace multitree::rtl {
namespace {

using Word = AxiWord;
constexpr std::size_t kWords = 256;  // of a memory
constexpr std::uint32_t kAddrW = mt_pkg::kAddrW, kStageW = mt_pkg::kCountW + kAddrW;

template <std::unsigned_integral Signal>
void put_part(Signal& signal, std::size_t lsb, std::uint32_t width, std::uint64_t value) {
  const std::uint64_t mask = low_bits(width);
  signal = static_cast<Signal>((signal & ~(mask << lsb)) | (value & mask) << lsb);
}
template <std::size_t Words>
void put_part(VlWide<Words>& signal, std::size_t lsb, std::uint32_t width, std::uint64_t value) {
  for (std::uint32_t b = 0; b < width; ++b, ++lsb) {
    const std::uint32_t bit = 1U << (lsb % 32);
    signal[lsb / 32] = (value >> b & 1) != 0 ? signal[lsb / 32] | bit : signal[lsb / 32] & ~bit;
  }
}
template <typename Signal>
bool bit(const Signal& signal, std::uint32_t at) {
  return (signal >> at & 1) != 0;
}

/// Where a word is: 0 the buffer, or turn + 1; its number.
using Place = std::pair<std::uint32_t, std::uint32_t>;

/// One of the five streams of a port, words that follow each other and pauses.
struct Stream {
  enum class Kind : std::uint8_t { Send, Add, Beside, Result, PutBeside };
  Kind kind = Kind::Send;
  std::uint32_t port = 0;
  bool offers = false;
  Place place = {};
  Word data{};
  std::uint64_t keep = 0;                       ///< bytes, as bits
  std::uint32_t run = 0;                        ///< words that are left of those in a row
  std::deque<std::pair<Place, Word>> due = {};  ///< reads: what is to come
  std::uint64_t moved = 0;
  [[nodiscard]] bool reads() const { return kind <= Kind::Beside; }
  [[nodiscard]] bool beside() const { return kind == Kind::Beside || kind == Kind::PutBeside; }
};

/// How often streams ask, of 256, and take what comes.
struct Pace {
  unsigned asks = 256, takes = 256;
  bool only_reads = false;
};

/// \tparam Bytes of a word
template <typename Model, std::uint32_t Ports, std::uint32_t Bytes = 16>
class Driver {
  static constexpr std::uint32_t kParts = Bytes / 4, kBits = 8 * Bytes;
  static constexpr std::uint64_t kWhole = ~std::uint64_t{0} >> (64 - Bytes);

 public:
  Driver(const AxiTiming& timing, std::uint64_t seed)
      : memory_(kWords * Bytes, Bytes), random_(seed), bench_(static_cast<int>(seed)) {
    memory_.set_timing(timing);
    for (std::uint32_t& first : first_) {
      first = random_() % 2 == 0 ? 0 : 2 * static_cast<std::uint32_t>(random_() % (Bytes / 2));
    }
    for (std::uint32_t p = 0; p < Ports; ++p) {
      for (std::uint32_t k = 0; k < 5; ++k) {
        streams_.push_back({.kind = static_cast<Stream::Kind>(k), .port = p});
      }
    }
    bench_->handle_i = memory_.handle();
    drive();
    bench_.reset();
  }

  void run(std::uint64_t cycles, const Pace& pace) {
    for (std::uint64_t c = 0; c < cycles && !testing::Test::HasFailure(); ++c) cycle(pace);
  }
  /// Until all that was asked for has come, and all is written; \returns whether it did.
  bool drain() {
    for (std::uint64_t c = 0; c < 20'000; ++c) {
      cycle({.asks = 0});
      bench_.settle();
      bool rests = bench_->mem_idle_o != 0;
      for (const Stream& s : streams_) rests = rests && !s.offers && s.due.empty();
      if (rests) return true;
    }
    return false;
  }
  /// The memory's words are those that were written.
  void expect_all_written() {
    for (const auto& [place, word] : words_) {
      Word got{};
      for (std::uint32_t b = 0; b < Bytes; b += Memory::kPartBytes) {
        memory_.read(place.first, byte_of(place) + b, &got[b / 4]);
      }
      EXPECT_EQ(got, word) << "space " << place.first << ", word " << place.second;
    }
  }
  [[nodiscard]] std::uint64_t moved(Stream::Kind kind) const {
    std::uint64_t sum = 0;
    for (const Stream& s : streams_) sum += s.kind == kind ? s.moved : 0;
    return sum;
  }
  [[nodiscard]] std::uint64_t least_moved() const {
    std::uint64_t least = ~std::uint64_t{0};
    for (const Stream& s : streams_) least = std::min(least, s.moved);
    return least;
  }
  [[nodiscard]] bool has_error() { return bench_->mem_error_o != 0; }
  [[nodiscard]] bool is_idle() { return bench_->mem_idle_o != 0; }
  Memory& memory() { return memory_; }

 private:
  [[nodiscard]] std::uint32_t byte_of(const Place& place) const {
    return static_cast<std::uint32_t>(place.second * Bytes) + first_[place.first];
  }
  /// Whether a stream may ask for that word: nobody writes what is being read, or has not been read
  /// since it was written, or reads or writes what is offered to be written. That is what
  /// interfaces keep to.
  [[nodiscard]] bool may(const Stream& s, const Place& place) {
    if (place.second + 1 >= kWords || writers_[place] != 0) return false;
    return s.reads() || (readers_[place] == 0 && !unread_[place]);
  }
  void offer(Stream& s, const Pace& pace) {
    if (s.offers || random_() % 256 >= pace.asks) return;
    if (pace.only_reads && !s.reads()) return;
    Place next = {s.place.first, s.place.second + 1};
    if (s.run == 0) {
      // Near the border of a page; some words are written and read again and again.
      const auto at = static_cast<std::uint32_t>(160 + random_() % (random_() % 2 == 0 ? 8 : 60));
      next = {s.beside() ? 1 + random_() % 3 : 0, at};
      s.run = static_cast<std::uint32_t>(1 + random_() % (random_() % 2 == 0 ? 3 : 40));
    }
    --s.run;
    s.place = next;
    if (!may(s, next)) {
      s.run = 0;
      return;
    }
    s.offers = true;
    ++(s.reads() ? readers_ : writers_)[next];
    for (std::uint32_t part = 0; part < kParts; ++part) {
      s.data[part] = static_cast<std::uint32_t>(random_());
    }
    s.keep = random_() % 4 == 0 ? random_() & kWhole : kWhole;
  }
  void accept(Stream& s) {
    s.offers = false;
    ++s.moved;
    if (s.reads()) {
      s.due.emplace_back(s.place, words_[s.place]);
      return;
    }
    --writers_[s.place];
    unread_[s.place] = true;
    Word& word = words_[s.place];
    auto* const to = reinterpret_cast<unsigned char*>(word.data());
    const auto* const from = reinterpret_cast<const unsigned char*>(s.data.data());
    for (std::size_t b = 0; b < Bytes; ++b) {
      if ((s.keep >> b & 1) != 0) to[b] = from[b];
    }
  }
  template <typename Data>
  void take(Stream& s, const Data& data) {
    ASSERT_FALSE(s.due.empty()) << "a word that nobody has asked for";
    const auto [place, word] = s.due.front();
    s.due.pop_front();
    --readers_[place];
    unread_[place] = false;
    for (std::uint32_t part = 0; part < kParts; ++part) {
      ASSERT_EQ(data[s.port * kParts + part], word[part])
          << "space " << place.first << ", word " << place.second;
    }
  }

  /// Puts all that is offered on the pins.
  void drive() {
    for (const Stream& s : streams_) {
      const std::uint32_t p = s.port;
      const std::uint64_t byte = byte_of(s.place);
      const std::uint64_t stage = byte | std::uint64_t{s.place.first - 1} << kAddrW;
      switch (s.kind) {
        case Stream::Kind::Send:
          put_part(bench_->tx_req_tvalid_i, p, 1, s.offers);
          put_part(bench_->tx_req_tdata_i, p * kAddrW, kAddrW, byte);
          break;
        case Stream::Kind::Add:
          put_part(bench_->acc_req_tvalid_i, p, 1, s.offers);
          put_part(bench_->acc_req_tdata_i, p * kAddrW, kAddrW, byte);
          break;
        case Stream::Kind::Beside:
          put_part(bench_->stage_req_tvalid_i, p, 1, s.offers);
          put_part(bench_->stage_req_tdata_i, p * kStageW, kStageW, stage);
          break;
        case Stream::Kind::Result:
          put_part(bench_->res_tvalid_i, p, 1, s.offers);
          put_part(bench_->res_taddr_i, p * kAddrW, kAddrW, byte);
          put_part(bench_->res_tkeep_i, p * Bytes, Bytes, s.keep);
          put_word(bench_->res_tdata_i, p * kBits, s.data);
          break;
        case Stream::Kind::PutBeside:
          put_part(bench_->stage_wr_tvalid_i, p, 1, s.offers);
          put_part(bench_->stage_wr_tkeep_i, p * Bytes, Bytes, s.keep);
          put_word(bench_->stage_wr_tdata_i, p * (kStageW + kBits), s.data);
          put_part(bench_->stage_wr_tdata_i, p * (kStageW + kBits) + kBits, kStageW, stage);
          break;
      }
    }
  }
  template <typename Signal>
  static void put_word(Signal& signal, std::size_t lsb, const Word& word) {
    for (std::size_t part = 0; part < kParts; ++part) {
      put_part(signal, lsb + 32 * part, 32, word[part]);
    }
  }

  void cycle(const Pace& pace) {
    for (Stream& s : streams_) offer(s, pace);
    drive();
    const auto takes = [&] { return static_cast<std::uint32_t>(random_() % 256 < pace.takes); };
    for (std::uint32_t p = 0; p < Ports; ++p) {
      put_part(bench_->tx_tready_i, p, 1, takes());
      put_part(bench_->acc_tready_i, p, 1, takes());
      put_part(bench_->stage_tready_i, p, 1, takes());
    }
    bench_.settle();
    // What comes in this cycle was asked for in an earlier one; what is read in it, accepted
    // before.
    for (Stream& s : streams_) {
      const std::uint32_t p = s.port;
      if (s.kind == Stream::Kind::Send && bit(bench_->tx_tvalid_o & bench_->tx_tready_i, p)) {
        take(s, bench_->tx_tdata_o);
      }
      if (s.kind == Stream::Kind::Add && bit(bench_->acc_tvalid_o & bench_->acc_tready_i, p)) {
        take(s, bench_->acc_tdata_o);
      }
      if (s.kind == Stream::Kind::Beside &&
          bit(bench_->stage_tvalid_o & bench_->stage_tready_i, p)) {
        take(s, bench_->stage_tdata_o);
      }
    }
    const std::array ready = {bench_->tx_req_tready_o, bench_->acc_req_tready_o,
                              bench_->stage_req_tready_o, bench_->res_tready_o,
                              bench_->stage_wr_tready_o};
    for (const bool reads : {true, false}) {
      for (Stream& s : streams_) {
        if (s.reads() == reads && s.offers &&
            bit(ready[static_cast<std::size_t>(s.kind)], s.port)) {
          accept(s);
        }
      }
    }
    bench_.rise();
  }

  Memory memory_;
  std::mt19937_64 random_;
  Bench<Model> bench_;
  std::vector<Stream> streams_;
  std::map<Place, Word> words_;  // as they were accepted
  std::map<Place, std::uint32_t> readers_, writers_;
  std::map<Place, bool> unread_;
  std::array<std::uint32_t, 4> first_{};  // [space]: byte at which its words begin
};

constexpr std::uint64_t kClearing = 4200;  // cycles after reset, at most

template <typename Driver>
class Axi4Memory : public testing::Test {};
using Drivers = testing::Types<Driver<Vaxi_small, 2>, Driver<Vaxi_wide, 2>, Driver<Vaxi_full, 1>,
                               Driver<Vaxi_small_256, 2, 32>, Driver<Vaxi_wide_512, 2, 64>>;
TYPED_TEST_SUITE(Axi4Memory, Drivers);

// Latency, jitter, stalls, words of different ids in any order, AW and W that wait for each other.
TYPED_TEST(Axi4Memory, ReadsWhatWasWrittenHoweverMemoryBehaves) {
  std::uint64_t seed = 0;
  for (const std::uint32_t latency : {1U, 20U, 200U}) {
    for (const std::uint32_t stalls : {0U, 100U, 220U}) {
      for (const Pace& pace : {Pace{}, Pace{.asks = 60, .takes = 90}}) {
        ++seed;
        SCOPED_TRACE(fmt::format("latency {}, stalls {}, seed {}", latency, stalls, seed));
        TypeParam driver(
            {.latency = latency, .jitter = latency / 2, .stalls = stalls, .seed = seed}, seed);
        driver.run(kClearing + 6000, pace);
        ASSERT_FALSE(this->HasFailure());
        EXPECT_GT(driver.least_moved(), 0U) << "a stream starves";
        ASSERT_TRUE(driver.drain());
        driver.expect_all_written();
        EXPECT_FALSE(driver.has_error());
      }
    }
  }
}

// Words in a row are bursts, and one is read and one written in each cycle.
TEST(Axi4Rate, AWordACycleInBursts) {
  Driver<Vaxi_full, 1> driver({.latency = 200}, 1);
  driver.run(kClearing, {});
  const std::uint64_t before = driver.moved(Stream::Kind::Send) + driver.moved(Stream::Kind::Add) +
                               driver.moved(Stream::Kind::Beside);
  AxiSlave& slave = driver.memory().axi(0);
  const std::uint64_t bursts = slave.read_bursts(), words = slave.read_words();
  driver.run(4000, {.only_reads = true});
  const std::uint64_t read = driver.moved(Stream::Kind::Send) + driver.moved(Stream::Kind::Add) +
                             driver.moved(Stream::Kind::Beside) - before;
  EXPECT_GT(read, 3800U);
  EXPECT_LT(3 * (slave.read_bursts() - bursts), slave.read_words() - words);
}

// An error is told, no word of it is handed on, and nothing is said to be written any more.
TYPED_TEST(Axi4Memory, ErrorsAreTold) {
  for (const bool reads : {true, false}) {
    AxiTiming timing{.latency = 10, .jitter = 5, .stalls = 50};
    (reads ? timing.bad_read : timing.bad_write) = 40;
    TypeParam driver(timing, 7);
    driver.run(kClearing + 4000, {.asks = 100});
    EXPECT_TRUE(driver.has_error()) << (reads ? "a read" : "a write");
    if (!reads) {
      EXPECT_FALSE(driver.is_idle());
    }
    EXPECT_FALSE(driver.drain());
  }
}

}  // namespace
}  // namespace multitree::rtl
