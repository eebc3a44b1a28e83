// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the parts of a flit are, for all widths that are verilated: docs/nic-spec.md, "Wider
/// flits". mt_pkg.sv has the same for the width that the hardware was made with.
#pragma once

#include <array>
#include <cstdint>

#include "generated/mt_pkg.hpp"

namespace multitree::rtl {

/// The widest flits that are verilated, and bytes of data of those that are.
inline constexpr std::uint32_t kMostDataW = 512;
inline constexpr std::array<std::uint32_t, 3> kFlitBytes = {16, 32, kMostDataW / 8};
inline constexpr std::uint32_t kUsualFlitBytes = mt_pkg::kDataW / 8;

/// From bit 0 up: data, parity, tail, head. Of the data of a header the lowest bits are used, in
/// the order of mt_pkg::header_t.
class FlitShape {
 public:
  constexpr FlitShape() = default;
  /// \param bytes of data, of kFlitBytes
  explicit constexpr FlitShape(std::uint32_t bytes) : bytes_(bytes) {}

  /// Bytes, bits and 32-bit words of data.
  [[nodiscard]] constexpr std::uint32_t bytes() const { return bytes_; }
  [[nodiscard]] constexpr std::uint32_t data_bits() const { return 8 * bytes_; }
  [[nodiscard]] constexpr std::uint32_t data_words() const { return bytes_ / 4; }
  /// Bits in all, and the bytes of a lane on wires, which has whole words.
  [[nodiscard]] constexpr std::uint32_t bits() const { return data_bits() + mt_pkg::kParityW + 2; }
  [[nodiscard]] constexpr std::uint32_t lane_bytes() const { return (bits() + 31) / 32 * 4; }
  [[nodiscard]] constexpr std::uint32_t tail_bit() const { return bits() - 2; }
  [[nodiscard]] constexpr std::uint32_t head_bit() const { return bits() - 1; }
  /// Bits of a header's `lanes`: one more whenever a flit is twice as wide.
  [[nodiscard]] constexpr std::uint32_t lanes_bits() const {
    std::uint32_t bits = mt_pkg::kLanesW;
    for (std::uint32_t b = kUsualFlitBytes; b < bytes_; b *= 2) ++bits;
    return bits;
  }
  /// The highest bit of a header: it is the route of a long way.
  [[nodiscard]] constexpr std::uint32_t route_bit() const {
    return mt_pkg::kHeaderW - mt_pkg::kLanesW + lanes_bits() - 1;
  }
  bool operator==(const FlitShape&) const = default;

 private:
  std::uint32_t bytes_ = kUsualFlitBytes;
};

static_assert(FlitShape{}.bits() == mt_pkg::kFlitBits &&
              FlitShape{}.lane_bytes() * 8 == mt_pkg::kLaneW &&
              FlitShape{}.route_bit() == mt_pkg::kHeaderW - 1);

/// Words of the widest lane.
inline constexpr std::uint32_t kMostLaneWords = FlitShape(kMostDataW / 8).lane_bytes() / 4;

}  // namespace multitree::rtl
