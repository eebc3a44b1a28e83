// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parts of verilated signals, which have another type for every width.
#pragma once

#include <verilated.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace multitree::rtl {

/// `width` bits from `lsb` up. \pre width <= 32.
template <std::unsigned_integral Signal>
std::uint32_t bits_of(Signal signal, std::size_t lsb, std::uint32_t width) {
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  return static_cast<std::uint32_t>(std::uint64_t{signal} >> lsb & mask);
}
template <std::size_t Words>
std::uint32_t bits_of(const VlWide<Words>& signal, std::size_t lsb, std::uint32_t width) {
  constexpr std::size_t kWord = 32;
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  const std::uint64_t low = signal[lsb / kWord], high = signal[(lsb + width - 1) / kWord];
  return static_cast<std::uint32_t>((high << kWord | low) >> (lsb % kWord) & mask);
}

}  // namespace multitree::rtl
