// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A bench for mt_router under worms: each arrives whole, in order, where its route leads; places
/// are never overrun and all come back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "../ni/flit.hpp"
#include "../prim/bench.hpp"

namespace multitree::rtl {

template <typename M, unsigned links, unsigned local, unsigned vcs, unsigned depth>
struct Shape {
  using Model = M;
  static constexpr unsigned Links = links, Local = local, Ports = links + local, Vcs = vcs,
                            VcBits = vcs == 2 ? 1 : 2, Depth = depth;
};
constexpr unsigned kLaneWords = mt_pkg::kLaneW / 32;

struct Worm {
  unsigned output = 0, mask = 0;
  std::vector<HardwareFlit> in = {}, out = {};  ///< as it comes, and as it has to leave
};

inline Worm make_worm(unsigned output, unsigned mask, unsigned payload, bool is_long,
                      std::uint32_t number, std::mt19937_64& random) {
  Worm worm{.output = output, .mask = mask};
  FlitWord header{};
  for (std::uint32_t& word : header) word = static_cast<std::uint32_t>(random());
  put_bits(header, 127, 1, 0);
  FlitWord route = header;
  put_bits(route, 127, 1, 1);
  FlitWord& first = is_long ? route : header;
  put_bits(first, 0, mt_pkg::kHopW, hop_of(output, mask));
  const unsigned route_bits = is_long ? mt_pkg::kLongRouteW : mt_pkg::kShortRouteW;
  FlitWord left = first;  // without that hop
  for (unsigned b = 0; b < route_bits; ++b) {
    put_bits(left, b, 1,
             b + mt_pkg::kHopW < route_bits ? get_bits(first, b + mt_pkg::kHopW, 1) : 0);
  }
  const bool alone = payload == 0 && !is_long;
  worm.in.push_back(make_flit(first, true, alone));
  worm.out.push_back(make_flit(left, true, alone));
  if (is_long) {
    worm.in.push_back(make_flit(header, false, payload == 0));
    worm.out.push_back(worm.in.back());
  }
  for (unsigned f = 0; f < payload; ++f) {
    FlitWord word{};
    for (std::uint32_t& w : word) w = static_cast<std::uint32_t>(random());
    word[1] = number;
    worm.in.push_back(make_flit(word, false, f + 1 == payload));
    worm.out.push_back(worm.in.back());
  }
  return worm;
}

struct Rates {
  Throttle::Kind in = Throttle::Kind::Always, credits = Throttle::Kind::Always,
                 ready = Throttle::Kind::Always;
};

template <typename S>
class RouterBench {
 public:
  static constexpr unsigned kPorts = S::Ports;

  RouterBench(unsigned places, const Rates& rates, std::uint64_t seed)
      : places_(places), random_(seed), bench_(static_cast<int>(seed)) {
    for (unsigned p = 0; p < kPorts; ++p) {
      send_.emplace_back(rates.in, seed * 64 + p);
      give_.emplace_back(rates.credits, seed * 64 + 16 + p);
      ready_.emplace_back(rates.ready, seed * 64 + 32 + p);
      for (unsigned v = 0; v < S::Vcs; ++v) room_[p][v] = places;
    }
    bench_->valid_i = bench_->credit_valid_i = 0;
    bench_->vc_i = bench_->credit_vc_i = 0;
    bench_->ready_i = 0;
    bench_->load_i = 0;
    put(bench_->places_i, places);
    bench_.reset();
    bench_->load_i = 1;
    bench_.cycle();
    bench_->load_i = 0;
  }

  /// Queues a worm at an input's virtual channel.
  void add(unsigned input, unsigned vc, const Worm& worm) {
    queues_[input][vc].push_back(worm);
    waiting_.push_back({.worm = worm, .input = input, .vc = vc});
    ++left_;
  }
  [[nodiscard]] bool is_empty() const { return left_ == 0; }
  [[nodiscard]] unsigned waiting(unsigned input, unsigned vc) const {
    return static_cast<unsigned>(queues_[input][vc].size());
  }
  /// Flits that left through each output, by the input they came from.
  std::array<std::array<unsigned, kPorts>, kPorts> passed{};
  std::vector<unsigned> order;  ///< inputs of the worms that began at output 0
  /// What goes out in each cycle: flits with their channels, credits with theirs.
  std::vector<std::array<std::uint64_t, 4>> trace;

  void run(unsigned most) {
    for (unsigned c = 0; c < most && left_ > 0 && !testing::Test::HasFailure(); ++c) cycle();
    EXPECT_EQ(left_, 0U) << "worms that did not arrive";
    // All places come back.
    for (unsigned c = 0; c < 4 * places_ * kPorts + 1000; ++c) cycle();
    for (unsigned p = 0; p < kPorts; ++p) {
      for (unsigned v = 0; v < S::Vcs; ++v) {
        EXPECT_EQ(room_[p][v], places_) << "input " << p << " channel " << v;
        EXPECT_EQ(held_[p][v], 0U) << "output " << p << " channel " << v;
      }
    }
  }

  void cycle() {
    drive_inputs();
    drive_outputs();
    bench_.settle();
    EXPECT_EQ(bench_->credit_over_o, 0);
    bench_.rise();
    trace.push_back({bench_->valid_o, bench_->vc_o, bench_->credit_valid_o, bench_->credit_vc_o});
    for (unsigned p = 0; p < kPorts; ++p) {
      if ((bench_->credit_valid_o >> p & 1) != 0) {
        unsigned& room = room_[p][bench_->credit_vc_o >> p * S::VcBits & (S::Vcs - 1)];
        EXPECT_LT(room++, places_) << "input " << p;
      }
      if ((bench_->valid_o >> p & 1) != 0) {
        check(p, bench_->vc_o >> p * S::VcBits & (S::Vcs - 1),
              HardwareFlit::of({bench_->flit_o.data() + p * kLaneWords, kLaneWords}));
      }
    }
  }

 private:
  struct Way {
    Worm worm;
    unsigned input = 0, vc = 0;
    std::size_t at = 0;
  };

  void drive_inputs() {
    std::uint64_t valid = 0, vcs = 0;
    for (unsigned p = 0; p < kPorts; ++p) {
      if (!send_[p]()) continue;
      const auto first = static_cast<unsigned>(random_() % S::Vcs);
      for (unsigned i = 0; i < S::Vcs; ++i) {
        const unsigned v = (first + i) % S::Vcs;
        if (room_[p][v] == 0 || queues_[p][v].empty()) continue;
        Worm& worm = queues_[p][v].front();
        const auto bits = worm.in[at_[p][v]].bits();
        std::copy(bits.begin(), bits.end(), bench_->flit_i.data() + p * kLaneWords);
        valid |= std::uint64_t{1} << p;
        vcs |= std::uint64_t{v} << p * S::VcBits;
        --room_[p][v];
        if (++at_[p][v] == worm.in.size()) {
          at_[p][v] = 0;
          queues_[p][v].pop_front();
        }
        break;
      }
    }
    put(bench_->valid_i, valid);
    put(bench_->vc_i, vcs);
  }

  void drive_outputs() {
    std::uint64_t valid = 0, vcs = 0, ready = 0;
    for (unsigned p = 0; p < S::Links; ++p) {
      if (due_[p].empty() || !give_[p]()) continue;
      // In any order of channels.
      const std::size_t i = random_() % due_[p].size();
      const unsigned v = due_[p][i];
      due_[p].erase(due_[p].begin() + static_cast<std::ptrdiff_t>(i));
      valid |= std::uint64_t{1} << p;
      vcs |= std::uint64_t{v} << p * S::VcBits;
      --held_[p][v];
    }
    for (unsigned p = 0; p < S::Local; ++p) {
      is_ready_[p] = ready_[p]();
      ready |= std::uint64_t{is_ready_[p]} << p;
    }
    put(bench_->credit_valid_i, valid);
    put(bench_->credit_vc_i, vcs);
    put(bench_->ready_i, ready);
  }

  void check(unsigned output, unsigned vc, const HardwareFlit& flit) {
    EXPECT_EQ(flit.parity, flit.right_parity());
    auto& way = ways_[output][vc];
    if (!way) begin(output, vc, flit);
    ASSERT_TRUE(way) << "a flit of no worm at output " << output;
    EXPECT_EQ(flit, way->worm.out[way->at]) << "output " << output << " channel " << vc;
    ++passed[output][way->input];
    if (output < S::Links) {
      EXPECT_LT(held_[output][vc]++, places_);
      due_[output].push_back(vc);
    } else {
      EXPECT_TRUE(is_ready_[output - S::Links]);
    }
    if (++way->at == way->worm.out.size()) {
      EXPECT_TRUE(flit.tail);
      way.reset();
      --left_;
    }
  }

  /// The oldest worm of some input's channel: they keep their order.
  void begin(unsigned output, unsigned vc, const HardwareFlit& flit) {
    std::map<std::pair<unsigned, unsigned>, bool> seen;
    for (auto i = waiting_.begin(); i != waiting_.end(); ++i) {
      if (std::exchange(seen[{i->input, i->vc}], true)) continue;
      if (i->worm.output != output || (i->worm.mask >> vc & 1) == 0 || i->worm.out[0] != flit) {
        continue;
      }
      check_choice(output, vc, i->worm.mask);
      if (output == 0) order.push_back(i->input);
      ways_[output][vc] = *i;
      waiting_.erase(i);
      return;
    }
  }

  /// An empty channel, if there was one that no worm held; then the lowest.
  void check_choice(unsigned output, unsigned vc, unsigned mask) {
    if (output >= S::Links || held_[output][vc] == 0) return;
    for (unsigned v = 0; v < S::Vcs; ++v) {
      if ((mask >> v & 1) != 0 && !ways_[output][v]) {
        EXPECT_NE(held_[output][v], 0U) << "channel " << v << " is empty";
      }
    }
  }

  unsigned places_;
  std::mt19937_64 random_;
  Bench<typename S::Model> bench_;
  std::vector<Throttle> send_, give_, ready_;
  std::array<std::array<std::deque<Worm>, S::Vcs>, kPorts> queues_;
  std::array<std::array<std::size_t, S::Vcs>, kPorts> at_{};
  std::array<std::array<unsigned, S::Vcs>, kPorts> room_{}, held_{};
  std::array<std::vector<unsigned>, kPorts> due_;
  std::array<bool, kPorts> is_ready_{};
  std::array<std::array<std::optional<Way>, S::Vcs>, kPorts> ways_;
  std::deque<Way> waiting_;
  unsigned left_ = 0;
};

/// An output to which an input has a way: of a port its link, of a link all links and its port.
inline unsigned output_with_way(unsigned input, unsigned links, std::mt19937_64& random) {
  if (input >= links) return input - links;
  const auto output = static_cast<unsigned>(random() % (links + 1));
  return output == links ? links + input : output;
}

template <typename S>
std::vector<std::array<std::uint64_t, 4>> worms_with_ways(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto kind = [&] { return Throttle::all[random() % std::size(Throttle::all)]; };
  const auto places = static_cast<unsigned>(1 + random() % S::Depth);
  RouterBench<S> bench(places, {.in = kind(), .credits = kind(), .ready = kind()}, seed);
  for (unsigned i = 0; i < 150; ++i) {
    const auto mask = static_cast<unsigned>(1 + random() % ((1U << S::Vcs) - 1));
    const auto payload = static_cast<unsigned>(random() % (random() % 3 == 0 ? 40 : 5));
    const auto input = static_cast<unsigned>(random() % S::Ports);
    const unsigned output = output_with_way(input, S::Links, random);
    bench.add(input, static_cast<unsigned>(random() % S::Vcs),
              make_worm(output, mask, payload, random() % 3 == 0, i, random));
  }
  bench.run(60'000);
  return std::move(bench.trace);
}

}  // namespace multitree::rtl
