// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Widths of table entries: the one description that the binary image, the memory files, the
/// SystemVerilog package and the documentation come from.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "nic/table/table.hpp"

namespace multitree::nic {

/// Fields of an entry from bit 0 up. Peer and port are those of its route.
enum class Field : std::uint8_t {
  Op,
  Step,
  Flow,
  Piece,
  Route,
  Wait,
  Turn,
  After,
  Start,
  Size,
  Group,
  Priority,
  Parity
};
inline constexpr std::size_t kFields = 13;
inline constexpr std::array<std::string_view, kFields> kFieldNames = {
    "op",    "step",  "flow", "piece", "route",    "wait",  "turn",
    "after", "start", "size", "group", "priority", "parity"};

/// Bits of each field: op 2, step log2(steps), flow log2(trees), piece log2(chunks of a tree),
/// route log2(routes of a rank), wait and turn log2(arrivals), after log2(messages sent), start and
/// size log2(elements), group log2(groups), priority log2(priorities), parity 1. 0 where all values
/// are 0, except for op and parity. At most 128.
struct Layout {
  std::array<std::uint8_t, kFields> width{};
  [[nodiscard]] std::uint32_t of(Field field) const {
    return width[static_cast<std::size_t>(field)];
  }
  [[nodiscard]] std::uint32_t bits() const;
  [[nodiscard]] std::uint32_t offset(Field field) const;  ///< of its lowest bit
  [[nodiscard]] std::uint32_t bytes() const { return (bits() + 7) / 8; }
  /// Whether entries say where their piece lies; otherwise its number does, see UniformPieces.
  [[nodiscard]] bool has_elements() const { return of(Field::Start) + of(Field::Size) > 0; }
  bool operator==(const Layout&) const = default;
};

/// The least that holds all entries; start and size have 0 bits if the pieces are uniform.
Layout layout_of(const Tables& tables);

/// The values of all fields; 0 for Parity, which depends on the widths: it makes the number of ones
/// among the bits of the entry even.
std::array<std::uint64_t, kFields> values_of(const Entry& entry);

}  // namespace multitree::nic
