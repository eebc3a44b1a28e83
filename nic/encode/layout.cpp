// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Field widths and values.
#include "nic/encode/layout.hpp"

#include <algorithm>
#include <bit>

#include "nic/encode/uniform.hpp"

namespace multitree::nic {

std::uint32_t Layout::bits() const {
  std::uint32_t sum = 0;
  for (const std::uint8_t bits : width) sum += bits;
  return sum;
}

std::uint32_t Layout::offset(Field field) const {
  std::uint32_t sum = 0;
  for (std::size_t f = 0; f < static_cast<std::size_t>(field); ++f) sum += width[f];
  return sum;
}

std::array<std::uint64_t, kFields> values_of(const Entry& e) {
  return {static_cast<std::uint64_t>(e.op),
          e.step,
          e.flow,
          e.piece,
          e.route,
          e.wait,
          e.turn,
          e.after,
          e.start,
          e.size,
          e.group,
          e.priority,
          0};
}

Layout layout_of(const Tables& tables) {
  std::array<std::uint64_t, kFields> most{};
  for (const auto& entries : tables.of_rank) {
    for (const Entry& entry : entries) {
      const auto values = values_of(entry);
      for (std::size_t f = 0; f < kFields; ++f) most[f] = std::max(most[f], values[f]);
    }
  }
  Layout layout;
  for (std::size_t f = 0; f < kFields; ++f) {
    layout.width[f] = static_cast<std::uint8_t>(std::bit_width(most[f]));
  }
  layout.width[static_cast<std::size_t>(Field::Op)] = 2;
  layout.width[static_cast<std::size_t>(Field::Parity)] = 1;
  if (uniform_pieces(tables)) {
    layout.width[static_cast<std::size_t>(Field::Start)] = 0;
    layout.width[static_cast<std::size_t>(Field::Size)] = 0;
  }
  return layout;
}

}  // namespace multitree::nic
