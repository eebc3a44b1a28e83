// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Element-wise reduction on host memory, by the vector instructions of this processor.
///
/// 16-bit floats are computed in float and rounded to nearest even after each operation; integers
/// wrap; Avg adds. Of two NaN operands of a sum or product the first is kept, made quiet (binary16:
/// its sign only), as the hardware's adders do; Min and Max keep the first operand unless the
/// second compares below or above it. The bits are the same for every processor, length and
/// alignment. PreMulSum adds what premultiply() has made; `function` is that of Custom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime {

/// accumulator[i] = accumulator[i] op input[i], in that operand order.
void reduce(void* accumulator, const void* input, std::size_t count, DataType type, ReduceOp op,
            const ReduceFunction* function = nullptr);

/// result[i] = first[i] op second[i]; `result` may be one of the two, but overlap none in part.
void reduce(void* result, const void* first, const void* second, std::size_t count, DataType type,
            ReduceOp op, const ReduceFunction* function = nullptr);

/// result[i] = inputs[0][i] op inputs[1][i] op ..., from left to right, in one pass for up to 16
/// inputs. `result` may be one of the first 16, but overlap none in part. \pre inputs is not empty
void reduce(void* result, std::span<const void* const> inputs, std::size_t count, DataType type,
            ReduceOp op, const ReduceFunction* function = nullptr);

/// The first step of PreMulSum: to[i] = from[i] * *scalar; `to` may be `from`.
void premultiply(void* to, const void* from, std::size_t count, DataType type, const void* scalar);

/// The last step of Avg: data[i] = data[i] / ranks. Nothing to do for other operators.
void finish_reduction(void* data, std::size_t count, DataType type, ReduceOp op,
                      std::uint32_t ranks);

/// memcpy for large destinations that are not read soon: does not fetch them, nor displace what the
/// caches hold.
void copy_past_caches(void* to, const void* from, std::size_t bytes);

}  // namespace multitree::runtime
