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

/// Fields of an entry from bit 0 up.
enum class Field : std::uint8_t {
  Op,
  Step,
  Flow,
  Piece,
  Peer,
  Port,
  Wait,
  Turn,
  After,
  Start,
  Size,
  Parity
};
inline constexpr std::size_t kFields = 12;
inline constexpr std::array<std::string_view, kFields> kFieldNames = {
    "op",   "step", "flow",  "piece", "peer", "port",
    "wait", "turn", "after", "start", "size", "parity"};

/// Bits of each field, each as many as the largest value in the tables needs and at least one:
/// op 2, step log2(steps), flow log2(trees), piece log2(chunks of a tree), peer log2(ranks),
/// port log2(links of a rank), wait and turn log2(arrivals), after log2(messages sent), start and
/// size log2(elements), parity 1.
struct Layout {
  std::array<std::uint8_t, kFields> width{};
  [[nodiscard]] std::uint32_t bits() const;
  [[nodiscard]] std::uint32_t offset(Field field) const;  ///< of its lowest bit
  [[nodiscard]] std::uint32_t bytes() const { return (bits() + 7) / 8; }
  bool operator==(const Layout&) const = default;
};

/// The least that holds all entries.
Layout layout_of(const Tables& tables);

/// The value of a field; of Parity, what makes the number of ones in the entry even.
std::uint64_t value_of(const Entry& entry, Field field);

}  // namespace multitree::nic
