// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From types and operators to the kernels of this processor.
#include "runtime/kernels/reduce.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/kernels/kernels_internal.hpp"

namespace multitree::runtime {
namespace {

/// Where more inputs come than one pass takes: so much stays in the first cache in between.
constexpr std::size_t kBlockBytes = 8192;

kernels::Combine kernel(DataType type, ReduceOp op) {
  return kernels::best().combine[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

/// Passes of up to kMaxInputs, the result so far in front.
void combine_block(void* result, std::span<const void* const> inputs, std::size_t offset,
                   std::size_t count, kernels::Combine combine) {
  std::array<const void*, kernels::kMaxInputs> pass{};
  std::size_t taken = 0, next = 0;
  while (next < inputs.size()) {
    while (taken < pass.size() && next < inputs.size()) {
      pass[taken++] = static_cast<const std::byte*>(inputs[next++]) + offset;
    }
    combine(result, pass.data(), taken, count);
    pass[0] = result;
    taken = 1;
  }
}

/// From the last input to the first, as a function leaves its result in its second operand. Aside,
/// because `result` may be one of the inputs.
void reduce_by(const ReduceFunction& function, void* result, std::span<const void* const> inputs,
               std::size_t count, DataType type) {
  alignas(64) std::array<std::byte, kBlockBytes> sum{};
  const std::size_t width = size_of(type);
  for (std::size_t at = 0; at < count; at += kBlockBytes / width) {
    const std::size_t length = std::min(kBlockBytes / width, count - at);
    const auto block_of = [&](const void* input) {
      return static_cast<const std::byte*>(input) + at * width;
    };
    std::memcpy(sum.data(), block_of(inputs.back()), length * width);
    for (std::size_t j = inputs.size() - 1; j-- > 0;) {
      function(block_of(inputs[j]), sum.data(), length, type);
    }
    std::memcpy(static_cast<std::byte*>(result) + at * width, sum.data(), length * width);
  }
}

}  // namespace

void reduce(void* accumulator, const void* input, std::size_t count, DataType type, ReduceOp op,
            const ReduceFunction* function) {
  reduce(accumulator, accumulator, input, count, type, op, function);
}

void reduce(void* result, const void* first, const void* second, std::size_t count, DataType type,
            ReduceOp op, const ReduceFunction* function) {
  const std::array<const void*, 2> inputs{first, second};
  if (op == ReduceOp::Custom) return reduce_by(*function, result, inputs, count, type);
  kernel(type, op)(result, inputs.data(), inputs.size(), count);
}

void reduce(void* result, std::span<const void* const> inputs, std::size_t count, DataType type,
            ReduceOp op, const ReduceFunction* function) {
  if (op == ReduceOp::Custom) return reduce_by(*function, result, inputs, count, type);
  const kernels::Combine combine = kernel(type, op);
  if (inputs.size() <= kernels::kMaxInputs) {
    combine(result, inputs.data(), inputs.size(), count);
    return;
  }
  const std::size_t width = size_of(type);
  const std::size_t block = kBlockBytes / width;
  for (std::size_t at = 0; at < count; at += block) {
    combine_block(static_cast<std::byte*>(result) + at * width, inputs, at * width,
                  std::min(block, count - at), combine);
  }
}

void premultiply(void* to, const void* from, std::size_t count, DataType type, const void* scalar) {
  const std::size_t width = size_of(type);
  const std::size_t block = std::min(kBlockBytes / width, count);
  alignas(64) std::array<std::byte, kBlockBytes> factors;
  for (std::size_t i = 0; i < block; ++i) std::memcpy(factors.data() + i * width, scalar, width);
  for (std::size_t at = 0; at < count; at += block) {
    reduce(static_cast<std::byte*>(to) + at * width,
           static_cast<const std::byte*>(from) + at * width, factors.data(),
           std::min(block, count - at), type, ReduceOp::Prod);
  }
}

void finish_reduction(void* data, std::size_t count, DataType type, ReduceOp op,
                      std::uint32_t ranks) {
  if (op == ReduceOp::Avg && ranks > 1) {
    kernels::kDivide[static_cast<std::size_t>(type)](data, count, ranks);
  }
}

void copy_past_caches(void* to, const void* from, std::size_t bytes) {
  kernels::best().stream(to, from, bytes);
}

}  // namespace multitree::runtime
