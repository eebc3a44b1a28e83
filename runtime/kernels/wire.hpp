// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Floats as they travel where they are rounded to fewer bytes; lossless.hpp has what is not lost.
///
/// Half and bfloat16 round to nearest even, and what is too large for half becomes infinite. Int8
/// are whole numbers from -127 to 127 in blocks of 64, each times a power of two that the block has
/// in common (a byte before its numbers): 8.125 bits an element, and no element is off by
/// more than 1/127 of the largest of its block. A block with an infinity or NaN arrives as NaNs;
/// what is below 2^-127 as 0. Floats of 8 bits, e4m3 and e5m2, have such blocks
/// and scales too: the largest is put into the last binade but one, and all round to nearest even,
/// to 4 and 3 significant bits; numbers below 2^-13 and 2^-28 of the largest have fewer. What was
/// decoded encodes as the same bytes again. The bits are the same for every processor and
/// alignment.
#pragma once

#include <cstddef>

#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// Bytes that `count` floats take; of those that do not round their own, which is the most.
[[nodiscard]] std::size_t wire_bytes(WireType wire, std::size_t count);

/// \pre rounds(wire), and nothing overlaps. `to` has wire_bytes(wire, count).
void encode(WireType wire, void* to, const float* from, std::size_t count);
void decode(WireType wire, float* to, const void* from, std::size_t count);

/// result[i] = first[i] op what `from` decodes to; `result` may be `first`.
void decode_and_reduce(WireType wire, float* result, const float* first, const void* from,
                       std::size_t count, ReduceOp op, const ReduceFunction* function);

/// What the receiver of `numbers` gets, in place; what does not round changes nothing.
void round_to(WireType wire, float* numbers, std::size_t count);

}  // namespace multitree::runtime
