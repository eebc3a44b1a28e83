// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Drives a verilated primitive cycle by cycle.
#pragma once

#include <verilated.h>

#include <cstdint>
#include <random>

namespace multitree::rtl {

/// A model with a clock: set inputs, settle(), look at outputs, rise().
template <typename Model>
class Bench {
 public:
  explicit Bench(int seed = 1) {
    context_.randReset(2);  // what has no reset starts as anything
    context_.randSeed(seed);
  }
  /// The model unregisters from the thread's context: by then that of a newer bench may be gone.
  ~Bench() { Verilated::threadContextp(&context_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Model* operator->() { return &model_; }

  /// Outputs follow inputs.
  void settle() {
    if constexpr (requires { model_.clk_i; }) {
      model_.clk_i = 0;
    }
    model_.eval();
  }
  /// The clock edge that ends the cycle.
  void rise() {
    model_.clk_i = 1;
    model_.eval();
  }
  void cycle() {
    settle();
    rise();
  }
  /// One cycle of reset.
  void reset() {
    model_.rst_ni = 0;
    cycle();
    model_.rst_ni = 1;
  }

 private:
  VerilatedContext context_;
  Model model_{&context_, "top"};
};

/// When one side of a stream is willing.
class Throttle {
 public:
  enum class Kind : std::uint8_t { Always, Pauses, ThreeOfFour, Seldom, Even, Often };
  static constexpr Kind all[] = {Kind::Always, Kind::Pauses, Kind::ThreeOfFour,
                                 Kind::Seldom, Kind::Even,   Kind::Often};

  Throttle(Kind kind, std::uint64_t seed) : kind_(kind), random_(seed) {}

  bool operator()() {
    const std::uint64_t cycle = cycle_++;
    switch (kind_) {
      case Kind::Always:
        return true;
      case Kind::Pauses:  // long ones, both ways
        return cycle / 40 % 2 == 1;
      case Kind::ThreeOfFour:
        return cycle % 4 != 3;
      case Kind::Seldom:
        return random_() % 10 < 1;
      case Kind::Even:
        return random_() % 10 < 5;
      case Kind::Often:
        return random_() % 10 < 9;
    }
    return false;
  }

 private:
  Kind kind_;
  std::mt19937_64 random_;
  std::uint64_t cycle_ = 0;
};

/// Sets a port of any width.
template <typename Port>
void put(Port& port, std::uint64_t value) {
  port = static_cast<Port>(value);
}

/// The lowest `bits` bits.
constexpr std::uint64_t low_bits(unsigned bits) { return ~std::uint64_t{0} >> (64 - bits); }

}  // namespace multitree::rtl
