// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floats as fewer bits with nothing lost: exponents as Huffman codes, the rest as it is.
///
/// Exponents of gradients are few and uneven, signs and mantissas are noise. A packed vector is
/// what is left of all elements without the byte that begins with the exponent; then the codes'
/// lengths; then four streams of codes, a quarter of the elements each, so that a processor has
/// four to work on. What would not become smaller stays as it is, so a vector never grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/kernels/huffman_internal.hpp"

namespace multitree::runtime {

/// Of one thread at a time; keeps its memory from call to call. Elements are floats of `width` 2, 4
/// or 8 bytes, wherever they lie.
class LosslessCodec {
 public:
  /// Returns how many bytes were written, less than count * width: packed, or as many: a copy. `to`
  /// has room for count * width and overlaps nothing.
  std::size_t encode(void* to, const void* from, std::size_t count, std::size_t width);
  /// \pre count * width bytes at `to`, `bytes` at `from`; nothing overlaps
  /// \throws Error(Transport) if these are not what encode() makes of so many elements
  void decode(void* to, std::size_t count, std::size_t width, const void* from, std::size_t bytes);

 private:
  Huffman huffman_;
  std::vector<std::uint8_t> symbols_;  ///< the byte of each element that begins with its exponent
};

}  // namespace multitree::runtime
