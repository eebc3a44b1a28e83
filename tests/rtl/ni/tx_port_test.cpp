// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_tx_port: every flit that it sends, when memory, credits, sums and steps come at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "../prim/bench.hpp"
#include "Vtx_port.h"
#include "flit.hpp"

namespace multitree::rtl {
namespace {

constexpr unsigned kVcs = 4, kRank = 0x5a;
constexpr unsigned kNop = 0, kReduce = 1, kGather = 2;

struct Message {
  unsigned op = kReduce, step = 0, flow = 0, piece = 0, route = 0, wait = 0, turn = 0, after = 0;
  unsigned start = 0, size = 0;

  [[nodiscard]] std::uint64_t bits() const {
    std::uint64_t all = 0;
    unsigned at = 0;
    const auto field = [&](unsigned width, unsigned value) {
      all |= std::uint64_t{value} << at;
      at += width;
    };
    field(2, op);
    field(4, step);
    field(3, flow);
    field(1, piece);
    field(2, route);
    field(3, wait);
    field(3, turn);
    field(3, after);
    field(12, start);
    field(12, size);
    return all | std::uint64_t{std::popcount(all) % 2 != 0} << at;
  }
};

struct Config {
  bool wide = true, packets = false, uniform = false, lockstep = false;
  bool shy = false;  ///< memory accepts only what it was asked in the cycle before
  unsigned packet_flits = 3, mask = 0xf, places = 15, chunk = 10, pieces = 2;
  std::array<bool, 4> is_long{};
  Throttle::Kind requests = Throttle::Kind::Always, words = Throttle::Kind::Always,
                 credits = Throttle::Kind::Always, sums = Throttle::Kind::Always;
};

FlitWord word_at(std::uint32_t address) {
  return {address, address * 3 + 1, ~address, address << 4 ^ 0x1234567};
}

class Sender {
 public:
  Sender(const Config& config, std::uint64_t seed)
      : config_(config),
        random_(seed),
        requests_(config.requests, seed + 1),
        words_(config.words, seed + 2),
        credits_(config.credits, seed + 3),
        sums_(config.sums, seed + 4),
        bench_(static_cast<int>(seed)) {
    for (auto& route : routes_) {
      for (std::uint32_t& word : route) word = static_cast<std::uint32_t>(random_());
      route[3] &= 0x3fffffff;
    }
    credit_.fill(config.places);
    bench_->rank_i = kRank;
    bench_->wide_i = config.wide;
    bench_->packets_i = config.packets;
    put(bench_->packet_flits_i, config.packet_flits);
    put(bench_->vc_mask_i, config.mask);
    bench_->uniform_i = config.uniform;
    bench_->size_i = config.chunk;
    put(bench_->pieces_i, config.pieces);
    put(bench_->places_i, config.places);
    bench_->lockstep_i = config.lockstep;
    bench_->load_i = bench_->running_i = bench_->rewind_i = bench_->entry_valid_i = 0;
    bench_->entry_error_i = bench_->req_tready_i = bench_->data_tvalid_i = 0;
    bench_->credit_valid_i = 0;
    bench_.reset();
    bench_->load_i = 1;
    bench_.cycle();
    bench_->load_i = 0;
    bench_->rewind_i = 1;
    bench_.cycle();
    bench_->rewind_i = 0;
    bench_->running_i = 1;
  }

  void add(const Message& message) {
    messages_.push_back(message);
    if (message.op != kNop) expect(message);
  }

  /// \returns cycles from the first flit to the last one.
  std::uint64_t run() {
    std::uint64_t first = 0, last = 0;
    while (next_ < messages_.size() || !expected_.empty()) {
      cycle();
      if (bench_->valid_o) {
        first = first == 0 ? cycle_ : first;
        last = cycle_;
      }
      if (testing::Test::HasFailure()) return 0;
      if (cycle_ > 200'000) {
        ADD_FAILURE() << "stands still, " << expected_.size() << " flits left";
        return 0;
      }
    }
    return last - first + 1;
  }

 private:
  [[nodiscard]] unsigned size_of(const Message& m) const {
    return config_.uniform ? config_.chunk : m.size;
  }
  [[nodiscard]] unsigned piece_of(const Message& m) const {
    return (m.flow * config_.pieces + m.piece) & 0xf;
  }
  [[nodiscard]] unsigned start_of(const Message& m) const {
    return config_.uniform ? piece_of(m) * config_.chunk : m.start;
  }
  [[nodiscard]] unsigned flits_of(const Message& m) const {
    const unsigned lanes = config_.wide ? 4 : 8;
    return (size_of(m) + lanes - 1) / lanes;
  }
  [[nodiscard]] std::uint32_t address_of(const Message& m, unsigned word) const {
    return start_of(m) * (config_.wide ? 4 : 2) + 16 * word;
  }

  void expect(const Message& m) {
    const unsigned total = flits_of(m), lanes = config_.wide ? 4 : 8;
    unsigned offset = 0;
    do {
      const unsigned flits =
          config_.packets ? std::min(config_.packet_flits, total - offset) : total;
      const bool is_long = config_.is_long[m.route];
      const auto& route = routes_[m.route];
      if (is_long) {
        FlitWord data = route;
        put_bits(data, 127, 1, 1);
        expected_.push_back(make_flit(data, true, false));
      }
      const HardwareHeader header{.gather = m.op == kGather,
                                  .last = offset + flits == total,
                                  .lanes = (size_of(m) - 1) & (lanes - 1),
                                  .src = kRank,
                                  .turn = m.turn,
                                  .after = m.after,
                                  .piece = piece_of(m),
                                  .flits = flits,
                                  .offset = offset,
                                  .start = start_of(m),
                                  .route = is_long ? 0 : get_bits(route, 0, mt_pkg::kShortRouteW)};
      expected_.push_back(make_flit(header.data(), !is_long, flits == 0));
      for (unsigned f = 0; f < flits; ++f) {
        expected_.push_back(make_flit(word_at(address_of(m, offset + f)), false, f + 1 == flits));
      }
      offset += flits;
    } while (offset < total);
  }

  void cycle() {
    ++cycle_;
    const bool has_entry = next_ < messages_.size();
    const Message m = has_entry ? messages_[next_] : Message{};
    bench_->entry_valid_i = has_entry;
    bench_->entry_i = m.bits();
    std::copy(routes_[m.route].begin(), routes_[m.route].end(), bench_->route_i.data());
    put(bench_->start_i, piece_of(m) * config_.chunk);
    bench_->route_long_i = config_.is_long[m.route];
    if (sums_()) {
      ++taken_;
      if (random_() % 4 == 0 && step_ < 15) ++step_;
    }
    put(bench_->taken_i, std::min(taken_, 7U));
    put(bench_->step_i, step_);
    put(bench_->current_step_i, step_);
    const bool accepts = requests_();
    bench_->req_tready_i = accepts && (!config_.shy || asks_);
    // A word stays until it is taken.
    gives_word_ = gives_word_ || (!words_due_.empty() && words_());
    bench_->data_tvalid_i = gives_word_;
    if (gives_word_) {
      const FlitWord word = word_at(words_due_.front());
      std::copy(word.begin(), word.end(), bench_->data_tdata_i.data());
    }
    const bool gives_credit = !credits_due_.empty() && credits_();
    bench_->credit_valid_i = gives_credit;
    if (gives_credit) {
      put(bench_->credit_vc_i, credits_due_.front());
      ++credit_[credits_due_.front()];
      credits_due_.pop_front();
    }
    bench_.settle();
    check_outputs(m, has_entry);
    asks_ = bench_->req_tvalid_o && !bench_->req_tready_i;
    const bool pops = bench_->entry_pop_o;
    if (bench_->sent_o) sent_ = asked_ = 0;
    sending_ = (sending_ || bench_->begun_o) && !bench_->sent_o;
    bench_.rise();
    if (bench_->valid_o) check_flit();
    if (pops) {
      ++next_;
      taken_ = static_cast<unsigned>(random_() % 8);
    }
  }

  void check_outputs(const Message& m, bool has_entry) {
    const bool may_begin = has_entry && m.op != kNop && std::min(taken_, 7U) >= m.wait &&
                           (!config_.lockstep || m.step <= step_);
    EXPECT_EQ(bench_->begun_o, may_begin && !sending_);
    EXPECT_EQ(bench_->sending_o, sending_);
    EXPECT_EQ(bench_->idle_in_step_o, !sending_ && (!has_entry || m.step > step_));
    EXPECT_EQ(bench_->opcode_error_o, 0);
    EXPECT_EQ(bench_->credit_over_o, 0);
    EXPECT_EQ(bench_->entry_pop_o, bench_->sent_o || (has_entry && m.op == kNop));
    if (sending_) {
      EXPECT_EQ(bench_->sent_flits_o, sent_);
    }
    if (has_entry) {
      EXPECT_EQ(bench_->piece_o, piece_of(m));
      EXPECT_EQ(bench_->route_o, m.route);
    }
    if (gives_word_ && bench_->data_tready_o) {
      words_due_.pop_front();
      gives_word_ = false;
    }
    if (bench_->req_tvalid_o) {
      EXPECT_TRUE(sending_ || bench_->begun_o);
      EXPECT_LT(asked_, flits_of(m));
      EXPECT_EQ(bench_->req_tdata_o, address_of(m, asked_));
      if (bench_->req_tready_i) {
        words_due_.push_back(bench_->req_tdata_o);
        EXPECT_LE(words_due_.size(), 4U) << "asked for more words than it may";
        ++asked_;
      }
    }
  }

  void check_flit() {
    ASSERT_FALSE(expected_.empty());
    const HardwareFlit flit = HardwareFlit::of({bench_->flit_o.data(), mt_pkg::kLaneW / 32});
    EXPECT_EQ(flit, expected_.front()) << "cycle " << cycle_;
    expected_.pop_front();
    const unsigned vc = bench_->vc_o;
    EXPECT_GT(credit_[vc], 0U);
    if (flit.head) {
      // The lowest empty one, else the lowest with a place.
      unsigned right = kVcs;
      for (unsigned v = kVcs; v-- > 0;) {
        if ((config_.mask >> v & 1) != 0 && credit_[v] > 0) right = v;
      }
      for (unsigned v = kVcs; v-- > 0;) {
        if ((config_.mask >> v & 1) != 0 && credit_[v] == config_.places) right = v;
      }
      EXPECT_EQ(vc, right);
      is_header_ = !HardwareHeader::of(flit.data).is_route;
      vc_ = vc;
    } else if (!is_header_) {
      is_header_ = true;  // the header behind its route
    } else if (sending_) {
      ++sent_;
    }
    EXPECT_EQ(vc, vc_);
    --credit_[vc];
    credits_due_.push_back(vc);
  }

  Config config_;
  std::mt19937_64 random_;
  Throttle requests_, words_, credits_, sums_;
  Bench<Vtx_port> bench_;
  std::array<FlitWord, 4> routes_{};
  std::vector<Message> messages_;
  std::deque<HardwareFlit> expected_;
  std::deque<std::uint32_t> words_due_;
  bool gives_word_ = false;
  std::deque<unsigned> credits_due_;
  std::array<unsigned, kVcs> credit_{};
  std::size_t next_ = 0;
  std::uint64_t cycle_ = 0;
  unsigned taken_ = 0, step_ = 0, asked_ = 0, sent_ = 0, vc_ = 0;
  bool asks_ = false;  // and was not accepted
  bool sending_ = false, is_header_ = true;
};

TEST(TxPort, SendsItsTableWhateverWaits) {
  std::mt19937_64 random(1);
  for (std::uint64_t seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
    const auto kind = [&] { return Throttle::all[random() % std::size(Throttle::all)]; };
    Config config{.wide = random() % 2 == 0,
                  .packets = random() % 2 == 0,
                  .uniform = random() % 3 == 0,
                  .lockstep = random() % 3 == 0,
                  .shy = seed % 4 == 0,
                  .packet_flits = static_cast<unsigned>(1 + random() % 5),
                  .mask = static_cast<unsigned>(1 + random() % 15),
                  .places = static_cast<unsigned>(1 + random() % 15),
                  .chunk = static_cast<unsigned>(random() % 40),
                  .pieces = static_cast<unsigned>(1 + random() % 2),
                  .requests = kind(),
                  .words = kind(),
                  .credits = kind(),
                  .sums = kind()};
    for (bool& is_long : config.is_long) is_long = random() % 3 == 0;
    Sender sender(config, seed);
    unsigned step = 0;
    for (int i = 0; i < 25; ++i) {
      step = std::min(15U, step + static_cast<unsigned>(random() % 2));
      const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
      sender.add({.op = random() % 8 == 0 ? kNop : 1 + below(2),
                  .step = step,
                  .flow = below(8),
                  .piece = below(2),
                  .route = below(4),
                  .wait = below(8),
                  .turn = below(8),
                  .after = below(8),
                  .start = below(4096),
                  .size = random() % 6 == 0 ? 0 : below(60)});
    }
    sender.run();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(TxPort, HasNoBubbleWithinOrBetweenMessages) {
  for (const bool packets : {false, true}) {
    for (const bool is_long : {false, true}) {
      Config config{.packets = packets};
      config.is_long.fill(is_long);
      Sender sender(config, 1);
      std::uint64_t flits = 0;
      for (unsigned i = 0; i < 20; ++i) {
        const unsigned words = i % 7;
        sender.add({.flow = i % 8, .start = 16 * i, .size = 4 * words});
        const unsigned worms = packets ? std::max(1U, (words + 2) / 3) : 1;
        flits += words + worms * (is_long ? 2 : 1);
      }
      EXPECT_EQ(sender.run(), flits);
    }
  }
}

TEST(TxPort, RefusesEntriesThatAreWrong) {
  for (const bool is_opcode : {false, true}) {
    Bench<Vtx_port> bench;
    bench->rewind_i = bench->load_i = bench->credit_valid_i = bench->data_tvalid_i = 0;
    bench->uniform_i = bench->lockstep_i = bench->packets_i = 0;
    bench->running_i = 0;
    bench->entry_valid_i = 0;
    bench.reset();
    bench->running_i = 1;
    bench->entry_valid_i = 1;
    bench->entry_i = Message{.op = is_opcode ? 3U : kReduce, .size = 4}.bits();
    bench->entry_error_i = !is_opcode;
    bench->taken_i = 0;
    bench.settle();
    EXPECT_EQ(bench->opcode_error_o, is_opcode);
    if (!is_opcode) {
      EXPECT_EQ(bench->begun_o, 0);
      EXPECT_EQ(bench->entry_pop_o, 0);
      EXPECT_EQ(bench->req_tvalid_o, 0);
    }
    bench.rise();
  }
}

TEST(TxPort, ReportsCreditsThatComeTwice) {
  Bench<Vtx_port> bench;
  bench->rewind_i = bench->running_i = bench->entry_valid_i = bench->data_tvalid_i = 0;
  bench->credit_valid_i = 0;
  bench->load_i = 0;
  bench.reset();
  bench->load_i = 1;
  bench->places_i = 3;
  bench.cycle();
  bench->load_i = 0;
  bench->credit_valid_i = 1;
  bench->credit_vc_i = 2;
  bench.settle();
  EXPECT_EQ(bench->credit_over_o, 1);
  bench.rise();
}

}  // namespace
}  // namespace multitree::rtl
