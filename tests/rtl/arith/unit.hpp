// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Drives a verilated mt_reduce_unit.
#pragma once

#include <verilated.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace multitree::rtl {

enum class Type : std::uint8_t { Int32, Fp32, Bf16, Fp16 };
using Flit = std::array<std::uint32_t, 4>;

/// What the unit is given in one cycle.
struct Operands {
  bool valid = true;
  Type type = Type::Int32;
  bool copy = false;
  Flit a{};
  Flit b{};
};

template <typename Model>
class Unit {
 public:
  explicit Unit(int seed = 1) {
    context_.randReset(2);  // what has no reset starts as anything
    context_.randSeed(seed);
    reset();
  }
  /// The model unregisters from the thread's context: by then that of a newer unit may be gone.
  ~Unit() { Verilated::threadContextp(&context_); }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  void reset() {
    model_.rst_ni = 0;
    cycle({.valid = false}, true);
    model_.rst_ni = 1;
  }

  /// One clock cycle; the outputs are then those after its edge.
  void cycle(const Operands& operands, bool enable) {
    model_.en_i = enable;
    model_.valid_i = operands.valid;
    model_.dtype_i = static_cast<std::uint8_t>(operands.type);
    model_.copy_i = operands.copy;
    std::copy(operands.a.begin(), operands.a.end(), &model_.a_i[0]);
    std::copy(operands.b.begin(), operands.b.end(), &model_.b_i[0]);
    model_.clk_i = 0;
    model_.eval();
    model_.clk_i = 1;
    model_.eval();
  }

  [[nodiscard]] bool valid() const { return model_.valid_o; }
  [[nodiscard]] Flit result() const {
    Flit flit;
    std::copy(&model_.r_o[0], &model_.r_o[0] + flit.size(), flit.begin());
    return flit;
  }

  /// r[i] = a[i] + b[i], a flit in every cycle. \returns the cycles that it took.
  std::size_t add(Type type, std::span<const Flit> a, std::span<const Flit> b, std::span<Flit> r) {
    std::size_t cycles = 0;
    for (std::size_t in = 0, out = 0; out < r.size() && cycles < r.size() + 64; ++cycles) {
      const bool valid = in < a.size();
      cycle(
          {.valid = valid, .type = type, .a = valid ? a[in] : Flit{}, .b = valid ? b[in] : Flit{}},
          true);
      in += valid ? 1 : 0;
      if (this->valid()) {
        r[out++] = result();
      }
    }
    return cycles;
  }

 private:
  VerilatedContext context_;
  Model model_{&context_, "unit"};
};

}  // namespace multitree::rtl
