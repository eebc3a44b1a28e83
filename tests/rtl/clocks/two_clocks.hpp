// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Drives a verilated module of two clocks, edge by edge.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <cstdint>

namespace multitree::rtl {

/// Periods of two clocks in the same unit, and when the second has its first edge.
struct Ratio {
  const char* name;
  std::uint64_t in, out, phase;
};
/// Equal, with the edges together or apart by less than a cycle; in ratios; and with edges that
/// come at ever other distances.
inline constexpr Ratio kRatios[] = {{"1:1", 8, 8, 0},
                                    {"1:1 shifted by 1/8", 8, 8, 1},
                                    {"1:1 shifted by 1/2", 8, 8, 4},
                                    {"1:1 shifted by 7/8", 8, 8, 7},
                                    {"3:2", 3, 2, 0},
                                    {"2:3", 2, 3, 1},
                                    {"1:4", 2, 8, 0},
                                    {"4:1", 8, 2, 1},
                                    {"1000:1001", 1000, 1001, 500},
                                    {"13:7", 13, 7, 3}};

/// Which clocks have an edge.
struct Edges {
  bool in = false, out = false;
};

/// A model with in_clk_i and out_clk_i, and a reset of each.
template <typename Model>
class TwoClocks {
 public:
  TwoClocks(const Ratio& ratio, int seed) : ratio_(ratio), next_out_(ratio.phase) {
    context_.randReset(2);  // what has no reset starts as anything
    context_.randSeed(seed);
  }
  ~TwoClocks() { Verilated::threadContextp(&context_); }
  TwoClocks(const TwoClocks&) = delete;
  TwoClocks& operator=(const TwoClocks&) = delete;

  Model* operator->() { return &model_; }

  /// Both resets for some cycles of the slower clock; then that of the input is over first, or that
  /// of the output.
  void reset(bool in_first) {
    model_.in_rst_ni = model_.out_rst_ni = 0;
    const std::uint64_t enough = now_ + 4 * std::max(ratio_.in, ratio_.out);
    while (now_ < enough) edge();
    (in_first ? model_.in_rst_ni : model_.out_rst_ni) = 1;
    for (int i = 0; i < 3; ++i) edge();
    model_.in_rst_ni = model_.out_rst_ni = 1;
    settle();
  }
  /// Outputs follow inputs.
  void settle() { model_.eval(); }
  /// The next edge of either clock, or of both if they come together.
  Edges edge() {
    now_ = std::min(next_in_, next_out_);
    const Edges edges{.in = next_in_ == now_, .out = next_out_ == now_};
    model_.in_clk_i = edges.in;
    model_.out_clk_i = edges.out;
    model_.eval();
    model_.in_clk_i = model_.out_clk_i = 0;
    model_.eval();
    if (edges.in) next_in_ += ratio_.in;
    if (edges.out) next_out_ += ratio_.out;
    return edges;
  }
  /// Which clocks the next edge is of.
  [[nodiscard]] Edges next() const {
    return {.in = next_in_ <= next_out_, .out = next_out_ <= next_in_};
  }
  [[nodiscard]] std::uint64_t now() const { return now_; }

 private:
  Ratio ratio_;
  VerilatedContext context_;
  Model model_{&context_, "top"};
  std::uint64_t now_ = 0, next_in_ = 0, next_out_ = 0;
};

}  // namespace multitree::rtl
