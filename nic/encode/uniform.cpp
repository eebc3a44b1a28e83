// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether pieces are of one size.
#include "nic/encode/uniform.hpp"

#include <algorithm>

namespace multitree::nic {

std::optional<UniformPieces> uniform_pieces(const Tables& tables) {
  UniformPieces pieces;
  for (const auto& entries : tables.of_rank) {
    for (const Entry& entry : entries) {
      pieces.pieces_per_flow = std::max(pieces.pieces_per_flow, entry.piece + 1);
      pieces.size = std::max(pieces.size, entry.size);
    }
  }
  const auto follows = [&](const Entry& entry) {
    if (entry.op == Opcode::Nop) return true;
    if (entry.size != pieces.size || entry.piece >= pieces.pieces_per_flow) return false;
    if (tables.relative || entry.size == 0) return entry.start == 0;
    return entry.start % entry.size == 0 && entry.start / entry.size == pieces.number_of(entry);
  };
  for (const auto& entries : tables.of_rank) {
    if (!std::ranges::all_of(entries, follows)) return std::nullopt;
  }
  return pieces;
}

}  // namespace multitree::nic
