// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_link_cross between a node and a link of other clocks: flits, credits, back-pressure, and what
/// goes wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <random>

#include "Vlink_cross.h"
#include "two_clocks.hpp"

namespace multitree::rtl {
namespace {

constexpr unsigned kChannels = 2, kPlaces = 8;  // RxDepth is 16, TxDepth 8

/// A flit by its first word; its channel is its lowest bit.
using Flits = std::deque<std::uint32_t>;

/// The crossing with a node at one side, whose clock is the first of the ratio, and a link at the
/// other.
class Crossing {
 public:
  Crossing(const Ratio& ratio, int seed) : ratio_(ratio), next_link_(ratio.phase) {
    context_.randReset(2);  // what has no reset starts as anything
    context_.randSeed(seed);
    Vlink_cross& m = model_;
    m.valid_i = m.credit_valid_i = m.link_valid_i = m.link_credit_valid_i = 0;
    m.link_ready_i = m.link_dead_i = 0;
    m.rst_ni = m.link_rst_ni = 0;
    for (int i = 0; i < 60; ++i) edge();
    m.rst_ni = m.link_rst_ni = 1;
  }
  ~Crossing() { Verilated::threadContextp(&context_); }
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;

  Vlink_cross* operator->() { return &model_; }
  void settle() { model_.eval(); }
  [[nodiscard]] Edges next() const {
    return {.in = next_node_ <= next_link_, .out = next_link_ <= next_node_};
  }
  void edge() {
    const Edges edges = next();
    model_.clk_i = edges.in;
    model_.link_clk_i = edges.out;
    model_.eval();
    model_.clk_i = model_.link_clk_i = 0;
    model_.eval();
    if (edges.in) next_node_ += ratio_.in;
    if (edges.out) next_link_ += ratio_.out;
  }

 private:
  Ratio ratio_;
  VerilatedContext context_;
  Vlink_cross model_{&context_, "top"};
  std::uint64_t next_node_ = 0, next_link_ = 0;
};

/// Random flits and credits both ways, and what of them should be where.
class Traffic {
 public:
  Traffic(const Ratio& ratio, unsigned often, int seed)
      : cross_(ratio, seed), often_(often), random_(static_cast<unsigned>(seed)) {}

  /// The next edge; with `ends` nothing new comes, and what is left goes on.
  void edge(bool ends) {
    const Edges next = cross_.next();
    if (next.in) drive_node(ends);
    if (next.out) drive_link(ends);
    cross_.settle();
    if (next.in) look_at_node(ends);
    if (next.out) look_at_link();
    cross_.edge();
    EXPECT_EQ(cross_->over_o, 0);
    EXPECT_EQ(cross_->dead_o, 0);
  }
  void expect_all_arrived() const {
    EXPECT_TRUE(to_link_.empty());
    EXPECT_TRUE(to_node_.empty());
    for (unsigned v = 0; v < kChannels; ++v) {
      EXPECT_EQ(owed_to_node_[v], 0U);
      EXPECT_EQ(room_[v], kPlaces);
    }
    EXPECT_GT(std::min({sent_, came_, back_, forth_}), 300U);
  }

 private:
  [[nodiscard]] bool happens() { return random_() % often_ == 0; }
  [[nodiscard]] std::uint32_t any() { return static_cast<std::uint32_t>(random_()); }

  void drive_node(bool ends) {
    cross_->valid_i = chosen_;
    const std::uint32_t flit = any();
    if (chosen_) {
      cross_->flit_i[0] = flit;
      cross_->vc_i = flit & 1;
    }
    // A flit that has come leaves the node some time later, and gives its credit back.
    const unsigned vc = any() % kChannels;
    const bool gives = held_[vc] != 0 && (ends || random_() % 3 == 0);
    cross_->credit_valid_i = gives;
    cross_->credit_vc_i = static_cast<CData>(vc);
    if (gives) --held_[vc], ++owed_to_link_[vc];
  }
  void drive_link(bool ends) {
    cross_->link_ready_i = ends || random_() % 4 != 0;
    const std::uint32_t flit = any();
    const bool arrives = !ends && room_[flit & 1] != 0 && happens();
    cross_->link_valid_i = arrives;
    cross_->link_flit_i[0] = flit;
    cross_->link_vc_i = flit & 1;
    if (arrives) --room_[flit & 1], to_node_.push_back(flit);
    const unsigned vc = any() % kChannels;
    const bool gives = !ends && owed_to_node_[vc] < 12 && happens();
    cross_->link_credit_valid_i = gives;
    cross_->link_credit_vc_i = static_cast<CData>(vc);
    if (gives) ++owed_to_node_[vc];
  }
  void look_at_node(bool ends) {
    if (cross_->valid_i) to_link_.push_back(cross_->flit_i[0]), ++sent_;
    chosen_ = !ends && cross_->ready_o && happens();
    if (cross_->valid_o) {
      ASSERT_FALSE(to_node_.empty());
      ASSERT_EQ(cross_->flit_o[0], to_node_.front());
      ASSERT_EQ(cross_->vc_o, to_node_.front() & 1);
      to_node_.pop_front();
      ++held_[cross_->vc_o], ++came_;
    }
    if (cross_->credit_valid_o) {
      ASSERT_GT(owed_to_node_[cross_->credit_vc_o], 0U);
      --owed_to_node_[cross_->credit_vc_o], ++back_;
    }
  }
  void look_at_link() {
    if (cross_->link_valid_o) {
      ASSERT_TRUE(cross_->link_ready_i);
      ASSERT_FALSE(to_link_.empty());
      ASSERT_EQ(cross_->link_flit_o[0], to_link_.front());
      ASSERT_EQ(cross_->link_vc_o, to_link_.front() & 1);
      to_link_.pop_front();
    }
    if (cross_->link_credit_valid_o) {
      ASSERT_GT(owed_to_link_[cross_->link_credit_vc_o], 0U);
      --owed_to_link_[cross_->link_credit_vc_o];
      ++room_[cross_->link_credit_vc_o], ++forth_;
    }
  }

  Crossing cross_;
  unsigned often_;
  std::mt19937 random_;
  Flits to_link_, to_node_;
  std::array<unsigned, kChannels> owed_to_node_{}, owed_to_link_{}, room_{kPlaces, kPlaces},
      held_{};
  std::size_t sent_ = 0, came_ = 0, back_ = 0, forth_ = 0;
  bool chosen_ = false;  // by the node, in the cycle before
};

TEST(LinkCross, FlitsAndCreditsArriveWhileTheLinkHoldsThemBack) {
  int seed = 0;
  for (const Ratio& ratio : kRatios) {
    SCOPED_TRACE(ratio.name);
    for (const unsigned often : {1U, 3U}) {
      Traffic traffic(ratio, often, ++seed);
      for (int i = 0; i < 12'000 && !HasFailure(); ++i) traffic.edge(i >= 10'000);
      traffic.expect_all_arrived();
    }
  }
}

TEST(LinkCross, MoreFlitsThanPlacesAndDeadLinksAreSeen) {
  Crossing cross({"slow node", 40, 1, 0}, 1);
  cross->link_ready_i = 1;
  const auto link_cycles = [&](int cycles, bool flits) {
    for (int i = 0; i < cycles;) {
      const bool is_link = cross.next().out;
      cross->link_valid_i = flits;
      cross.settle();
      cross.edge();
      i += is_link ? 1 : 0;
    }
    cross->link_valid_i = 0;
  };
  link_cycles(10, true);
  link_cycles(2000, false);
  EXPECT_EQ(cross->over_o, 0);
  link_cycles(30, true);
  link_cycles(200, false);
  EXPECT_EQ(cross->over_o, 1);
  link_cycles(2000, false);
  EXPECT_EQ(cross->over_o, 1);
  EXPECT_EQ(cross->dead_o, 0);
  cross->link_dead_i = 1;
  link_cycles(200, false);
  EXPECT_EQ(cross->dead_o, 1);
  cross->rst_ni = cross->link_rst_ni = cross->link_dead_i = 0;
  link_cycles(300, false);
  cross->rst_ni = cross->link_rst_ni = 1;
  link_cycles(300, false);
  EXPECT_EQ(cross->over_o, 0);
  EXPECT_EQ(cross->dead_o, 0);
}

}  // namespace
}  // namespace multitree::rtl
