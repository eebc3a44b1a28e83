// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Buffers cut into pieces of one size, in the order of their numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/table/table.hpp"

namespace multitree::nic {

/// What start and size of every entry follow from: piece p of flow f is number f * pieces_per_flow
/// + p, is `size` elements long and starts at number * size; in a relative table, whose flows are
/// not those of a rank yet, start stays 0.
struct UniformPieces {
  std::uint32_t pieces_per_flow = 1;
  std::uint64_t size = 0;  ///< elements
  bool operator==(const UniformPieces&) const = default;
  [[nodiscard]] std::uint64_t number_of(const Entry& entry) const {
    return std::uint64_t{entry.flow} * pieces_per_flow + entry.piece;
  }
};

/// Empty if the entries are not so; Nop entries do not count. With `pieces_per_flow` as small as
/// the entries allow.
std::optional<UniformPieces> uniform_pieces(const Tables& tables);

}  // namespace multitree::nic
