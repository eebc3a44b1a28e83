// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Element-wise reduction on host memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/data_type.hpp"

namespace multitree::runtime {

/// accumulator[i] = accumulator[i] op input[i], in that operand order. 16-bit floats are computed
/// in float and rounded to nearest even after each operation; integers wrap. Avg adds.
void reduce(void* accumulator, const void* input, std::size_t count, DataType type, ReduceOp op);

/// result[i] = first[i] op second[i], likewise; `result` overlaps neither.
void reduce(void* result, const void* first, const void* second, std::size_t count, DataType type,
            ReduceOp op);

/// The last step of Avg: data[i] = data[i] / ranks. Nothing to do for other operators.
void finish_reduction(void* data, std::size_t count, DataType type, ReduceOp op,
                      std::uint32_t ranks);

}  // namespace multitree::runtime
