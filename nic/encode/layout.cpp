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

std::uint64_t value_of(const Entry& entry, Field field) {
  switch (field) {
    case Field::Op:
      return static_cast<std::uint64_t>(entry.op);
    case Field::Step:
      return entry.step;
    case Field::Flow:
      return entry.flow;
    case Field::Piece:
      return entry.piece;
    case Field::Route:
      return entry.route;
    case Field::Wait:
      return entry.wait;
    case Field::Turn:
      return entry.turn;
    case Field::After:
      return entry.after;
    case Field::Start:
      return entry.start;
    case Field::Size:
      return entry.size;
    case Field::Parity:
      break;
  }
  return 0;
}

Layout layout_of(const Tables& tables) {
  std::array<std::uint64_t, kFields> most{};
  for (const auto& entries : tables.of_rank) {
    for (const Entry& entry : entries) {
      for (std::size_t f = 0; f < kFields; ++f) {
        most[f] = std::max(most[f], value_of(entry, static_cast<Field>(f)));
      }
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
