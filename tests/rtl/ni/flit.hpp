// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flits and headers as rtl/pkg/mt_pkg.sv has them, in C++.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "generated/mt_pkg.hpp"

namespace multitree::rtl {

/// Bits `at` and up, at most 64.
inline std::uint64_t get_bits(std::span<const std::uint32_t> words, unsigned at, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned b = 0; b < width; ++b) {
    value |= std::uint64_t{words[(at + b) / 32] >> (at + b) % 32 & 1} << b;
  }
  return value;
}
inline void put_bits(std::span<std::uint32_t> words, unsigned at, unsigned width,
                     std::uint64_t value) {
  for (unsigned b = 0; b < width; ++b) {
    std::uint32_t& word = words[(at + b) / 32];
    const std::uint32_t bit = 1U << (at + b) % 32;
    word = (value >> b & 1) != 0 ? word | bit : word & ~bit;
  }
}

using FlitWord =
    std::array<std::uint32_t, mt_pkg::kDataW / 32>;  ///< a payload, the lowest bits first

struct HardwareFlit {
  static constexpr unsigned kParityAt = mt_pkg::kDataW, kTailAt = kParityAt + mt_pkg::kParityW,
                            kHeadAt = kTailAt + 1, kBits = mt_pkg::kFlitBits;

  bool head = false, tail = false;
  std::uint8_t parity = 0;
  FlitWord data{};
  bool operator==(const HardwareFlit&) const = default;

  /// Bit i of the data, of tail and of head belongs to group i mod 8.
  [[nodiscard]] std::uint8_t right_parity() const {
    std::uint8_t sum = static_cast<std::uint8_t>((tail ? 1 : 0) | (head ? 2 : 0));
    for (const std::uint32_t word : data) {
      for (unsigned byte = 0; byte < 4; ++byte) {
        sum = static_cast<std::uint8_t>(sum ^ (word >> 8 * byte & 0xff));
      }
    }
    return sum;
  }
  [[nodiscard]] std::array<std::uint32_t, mt_pkg::kLaneW / 32> bits() const {
    std::array<std::uint32_t, mt_pkg::kLaneW / 32> words{};
    std::copy(data.begin(), data.end(), words.begin());
    words[4] = static_cast<std::uint32_t>(parity | (tail ? 1 << 8 : 0) | (head ? 1 << 9 : 0));
    return words;
  }
  static HardwareFlit of(std::span<const std::uint32_t> words) {
    HardwareFlit flit;
    std::copy_n(words.begin(), flit.data.size(), flit.data.begin());
    flit.parity = static_cast<std::uint8_t>(get_bits(words, kParityAt, mt_pkg::kParityW));
    flit.tail = get_bits(words, kTailAt, 1) != 0;
    flit.head = get_bits(words, kHeadAt, 1) != 0;
    return flit;
  }
};

/// A flit with the parity that it should have.
inline HardwareFlit make_flit(const FlitWord& data, bool head, bool tail) {
  HardwareFlit flit{.head = head, .tail = tail, .data = data};
  flit.parity = flit.right_parity();
  return flit;
}

/// A hop of a route.
constexpr std::uint64_t hop_of(unsigned port, unsigned mask) {
  return port | mask << mt_pkg::kHopPortW;
}

struct HardwareHeader {
  bool is_route = false, gather = false, last = false;
  unsigned lanes = 0, src = 0, turn = 0, after = 0, piece = 0, flits = 0, offset = 0, start = 0;
  std::uint64_t route = 0;
  bool operator==(const HardwareHeader&) const = default;

  [[nodiscard]] FlitWord data() const {
    FlitWord words{};
    unsigned at = 0;
    const auto put = [&](unsigned width, std::uint64_t value) {
      put_bits(words, at, width, value);
      at += width;
    };
    put(mt_pkg::kShortRouteW, route);
    put(mt_pkg::kStartW, start);
    put(mt_pkg::kLenW, offset);
    put(mt_pkg::kLenW, flits);
    put(mt_pkg::kPieceW, piece);
    put(mt_pkg::kCountW, after);
    put(mt_pkg::kCountW, turn);
    put(mt_pkg::kSrcW, src);
    put(mt_pkg::kLanesW, lanes);
    put(1, last);
    put(1, gather);
    put(5, 0);
    put(1, is_route);
    return words;
  }
  static HardwareHeader of(const FlitWord& words) {
    HardwareHeader header;
    unsigned at = 0;
    const auto get = [&](unsigned width) {
      at += width;
      return get_bits(words, at - width, width);
    };
    header.route = get(mt_pkg::kShortRouteW);
    const auto number = [&](unsigned width) { return static_cast<unsigned>(get(width)); };
    header.start = number(mt_pkg::kStartW);
    header.offset = number(mt_pkg::kLenW);
    header.flits = number(mt_pkg::kLenW);
    header.piece = number(mt_pkg::kPieceW);
    header.after = number(mt_pkg::kCountW);
    header.turn = number(mt_pkg::kCountW);
    header.src = number(mt_pkg::kSrcW);
    header.lanes = number(mt_pkg::kLanesW);
    header.last = get(1) != 0;
    header.gather = get(1) != 0;
    (void)get(5);
    header.is_route = get(1) != 0;
    return header;
  }
};

}  // namespace multitree::rtl
