// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where a call's data lies at one rank, as its collective's row of the table says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/communicator.hpp"

namespace multitree::runtime {

inline const std::byte* bytes_of(const void* memory) {
  return static_cast<const std::byte*>(memory);
}
inline std::byte* bytes_of(void* memory) { return static_cast<std::byte*>(memory); }

/// In bytes. The whole is what a schedule works on: the shards of all ranks, or the vector.
struct Layout {
  std::size_t whole = 0;
  std::size_t own = 0;       ///< where this rank's shard begins in the whole; 0 without shards
  std::size_t sent = 0;      ///< what this rank puts in: the whole, its shard, or nothing
  std::size_t received = 0;  ///< what this rank gets out
  bool sends = false, receives = false;
  bool reduces = false;

  /// Whether the result buffer has room for the whole, so that the work can be done in it.
  [[nodiscard]] bool works_in_recv() const { return receives && received == whole; }
  /// Whether the input lies as the whole does, so that it can be read where it is.
  [[nodiscard]] bool sends_whole() const { return sends && sent == whole; }
  /// Where the result of this rank begins in the whole.
  [[nodiscard]] std::size_t result() const { return received == whole ? 0 : own; }
};

/// `root`: of the collective, if it has one.
Layout layout_of(const Call& call, Rank self, std::uint32_t ranks, Rank root);

/// \throws Error(InvalidArgument): the sizes do not fit the address space, a buffer that is needed
/// is null, send and recv overlap without being in place.
void check_buffers(const Call& call, Rank self, std::uint32_t ranks, Rank root);

/// The elements of the whole.
[[nodiscard]] std::uint64_t elements_of(const Call& call, std::uint32_t ranks);

}  // namespace multitree::runtime
